#include "wikitext_scan.hpp"

#include <cstring>

namespace sgmc::text {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '_' || c == '\t'; }

std::size_t utf8(std::uint32_t code, char* out) {
  std::size_t n = 0;
  auto const put = [&](std::uint32_t byte) { out[n++] = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
  }
  if (code >= 0x80) put(0x80 | (code & 0x3F));
  return n;
}

/// A number in digits of the base; a number too large becomes 0x110000, anything else -1.
std::int64_t whole(std::string_view digits, std::int64_t base) {
  std::int64_t code = 0;
  for (char const c : digits) {
    std::int64_t const digit = is_digit(c) ? c - '0' : lower(c) - 'a' + 10;
    if (digit >= base) return -1;
    code = std::min<std::int64_t>(code * base + digit, 0x110000);
  }
  return code;
}

}  // namespace

std::size_t scheme(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && n < 10 && is_alpha(text[n])) ++n;
  Lower const name(text.substr(0, n));
  std::string_view const rest = text.substr(n);
  if (rest.starts_with("://") && listed(kSchemes, name.view())) return n + 3;
  if (n == 0 && rest.starts_with("//") && rest.size() > 2 && is_alnum(rest[2])) return 2;
  if (rest.starts_with(':') && listed(kBareSchemes, name.view())) return n + 1;
  return 0;
}

std::size_t address(std::string_view text) {
  std::size_t n = 0;
  for (; n < text.size(); ++n) {
    std::string_view const rest = text.substr(n);
    if (static_cast<std::uint8_t>(rest[0]) <= ' ' || "[]{}<>\"|"sv.find(rest[0]) != rest.npos)
      break;
    // Chinese and Japanese punctuation, which no blank follows
    if (rest.starts_with("''") || rest.starts_with("\xE3\x80") || rest.starts_with("\xEF\xBC"))
      break;
  }
  return n;
}

bool is_hidden(Wiki const& wiki, std::string_view link_target) {
  std::size_t const colon = link_target.substr(0, sizeof(Lower::text)).find(':');
  if (colon == link_target.npos || colon + 1 == link_target.size()) return false;
  std::string_view prefix = link_target.substr(0, colon);
  while (!prefix.empty() && is_blank(prefix.front())) prefix.remove_prefix(1);
  while (!prefix.empty() && is_blank(prefix.back())) prefix.remove_suffix(1);
  if (prefix.empty()) return false;
  if (!is_space(link_target[colon + 1]) && is_language(prefix)) return true;
  Lower name(prefix);
  std::replace(name.text, name.text + name.size, '_', ' ');
  if (wiki.files.contains(name.view()) || wiki.categories.contains(name.view())) return true;
  // Looks only at the end, because nested links must not be read repeatedly.
  std::string_view const tail =
      link_target.substr(link_target.size() - std::min<std::size_t>(6, link_target.size()));
  std::size_t const dot = tail.rfind('.');
  return dot != tail.npos && listed(kMedia, Lower(tail.substr(dot + 1)).view());
}

std::string_view variant(std::string_view rule) {
  if (std::size_t const flags = rule.substr(0, 24).find('|'); flags != rule.npos) {
    if (rule.substr(0, flags).find_first_of("THD-") != rule.npos) return rule.substr(0, 0);
    rule.remove_prefix(flags + 1);
  }
  std::string_view first = rule.substr(0, rule.find(';'));
  if (std::size_t const to = first.find("=>"); to != first.npos) first.remove_prefix(to + 2);
  while (!first.empty() && is_space(first.front())) first.remove_prefix(1);
  std::size_t const colon = first.substr(0, 12).find(':');
  if (colon == first.npos || !is_language(first.substr(0, colon))) return rule;
  return first.substr(colon + 1);
}

Entity entity(Wiki const& wiki, std::string_view text, char* out) {
  bool const number = text.size() > 2 && text[1] == '#';
  bool const hex = number && lower(text[2]) == 'x';
  std::size_t const begin = 1 + number + hex;
  std::size_t end = begin;
  while (end < text.size() && end - begin < 12 && is_alnum(text[end])) ++end;
  if (end == begin || end == text.size() || text[end] != ';') return {};
  std::string_view const name = text.substr(begin, end - begin);
  if (!number) {
    auto const found = wiki.entities.find(name);
    if (found == wiki.entities.end()) return {};
    std::memcpy(out, found->second.data(), found->second.size());
    return {end + 1, found->second.size()};
  }
  std::int64_t code = whole(name, hex ? 16 : 10);
  if (code < 0) return {};
  if (code == 0xAD) return {end + 1, 0};  // soft hyphens are within words
  bool const surrogate = code >= 0xD800 && code < 0xE000;
  if (code < 0x20 || code == 0xA0 || code > 0x10FFFF || surrogate) code = ' ';  // no character
  return {end + 1, utf8(static_cast<std::uint32_t>(code), out)};
}

std::size_t tag_end(std::string_view text, std::size_t& work) {
  if (text.empty() || !(is_space(text[0]) || text[0] == '/' || text[0] == '>')) return 0;
  text = text.substr(0, 2000);
  std::size_t const n = std::min(text.find_first_of("<>"), text.size());
  work += 2 * n;
  bool const parted = text.substr(0, n).find("\n\n") != text.npos;  // by the end of a paragraph
  return n < text.size() && text[n] == '>' && !parted ? n + 1 : 0;
}

Closing closing_tag(std::string_view text, std::string_view name, std::size_t& work) {
  std::size_t looked = 0;
  for (std::size_t at = text.find('<'); at != text.npos; at = text.find('<', at + 1)) {
    work += at + 1 - looked;
    looked = at + 1;
    bool const closing = text.substr(at + 1).starts_with('/');
    std::string_view const word = text.substr(at + 1 + closing, name.size());
    if (Lower(word).view() != name) continue;
    std::size_t const behind = at + 1 + closing + name.size();
    std::size_t const past = tag_end(text.substr(behind), work);
    if (past == 0) continue;
    if (!closing) return {};
    if (name == "ref") {
      work += at;
      if (text.substr(0, at).find("\n==") != text.npos) return {};
    }
    return {at, behind + past};
  }
  work += text.size() - looked;
  return {};
}

}  // namespace sgmc::text
