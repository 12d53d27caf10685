// Words of wikitext that are the same in all languages.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace sgmc::text {

using namespace std::string_view_literals;

/// Bytes that end a run of plain text.
inline constexpr std::array<bool, 256> kMarks = [] {
  std::array<bool, 256> marks{};
  for (char c : "{}[]<&'|\n:_"sv) marks[static_cast<std::uint8_t>(c)] = true;
  return marks;
}();

/// Tags whose content is neither prose nor wikitext.
inline constexpr std::array kOpaque = {"categorytree"sv, "ce"sv,
                                       "chem"sv,         "gallery"sv,
                                       "graph"sv,        "hiero"sv,
                                       "imagemap"sv,     "includeonly"sv,
                                       "indicator"sv,    "inputbox"sv,
                                       "mapframe"sv,     "maplink"sv,
                                       "math"sv,         "pre"sv,
                                       "ref"sv,          "score"sv,
                                       "source"sv,       "syntaxhighlight"sv,
                                       "templatedata"sv, "templatestyles"sv,
                                       "timeline"sv};

/// Tags within or between words; any other tag separates words.
inline constexpr std::array kInline = {
    "abbr"sv,  "b"sv,    "bdi"sv,    "bdo"sv,    "big"sv, "cite"sv, "code"sv, "del"sv, "dfn"sv,
    "em"sv,    "font"sv, "i"sv,      "ins"sv,    "kbd"sv, "nobr"sv, "q"sv,    "s"sv,   "samp"sv,
    "small"sv, "span"sv, "strike"sv, "strong"sv, "sub"sv, "sup"sv,  "tt"sv,   "u"sv,   "var"sv};

/// Starts of addresses that "//" follows.
inline constexpr std::array kSchemes = {
    "ftp"sv, "ftps"sv, "git"sv,  "gopher"sv, "http"sv, "https"sv, "irc"sv,    "ircs"sv,
    "mms"sv, "news"sv, "nntp"sv, "sftp"sv,   "ssh"sv,  "svn"sv,   "telnet"sv, "worldwind"sv};

/// Starts of addresses without "//", which count only within brackets.
inline constexpr std::array kBareSchemes = {"bitcoin"sv, "geo"sv, "magnet"sv, "mailto"sv,
                                            "news"sv,    "sip"sv, "sips"sv,   "sms"sv,
                                            "tel"sv,     "urn"sv, "xmpp"sv};

/// Links to such files are pictures and sounds, whatever their namespace is called.
inline constexpr std::array kMedia = {"djvu"sv, "gif"sv,  "jpeg"sv, "jpg"sv,  "mid"sv,  "mp3"sv,
                                      "oga"sv,  "ogg"sv,  "ogv"sv,  "pdf"sv,  "png"sv,  "svg"sv,
                                      "tif"sv,  "tiff"sv, "wav"sv,  "webm"sv, "webp"sv, "xcf"sv};

/// Language codes that do not look like codes.
inline constexpr std::array kLanguages = {"simple"sv, "tokipona"sv, "nostalgia"sv};

template <std::size_t N>
constexpr bool listed(std::array<std::string_view, N> const& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
constexpr bool is_high(char c) { return static_cast<std::uint8_t>(c) >= 0x80; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
constexpr char lower(char c) { return is_upper(c) ? static_cast<char>(c + 32) : c; }

/// A word in lower case, without allocation; empty if it is too long to be a known word.
struct Lower {
  explicit constexpr Lower(std::string_view word) {
    if (word.size() > sizeof text) return;
    for (char c : word) text[size++] = lower(c);
  }
  constexpr std::string_view view() const { return {text, size}; }
  char text[96]{};
  std::size_t size = 0;
};

/// Whether it looks like a language code: "de", "zh-min-nan".
constexpr bool is_language(std::string_view code) {
  if (listed(kLanguages, code)) return true;
  std::size_t const first = std::min(code.find('-'), code.size());
  if (first < 2 || first > 3 || code.size() > 16 || code.back() == '-') return false;
  return std::all_of(code.begin(), code.end(), [](char c) { return is_lower(c) || c == '-'; });
}

}  // namespace sgmc::text
