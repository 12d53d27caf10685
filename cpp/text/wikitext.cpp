#include "wikitext.hpp"

#include <cstring>
#include <vector>

#include "wikitext_tables.hpp"

namespace sgmc::text {
namespace {

/// What may be open. Of a link, `target` is before its first bar; after it the text is shown, or
/// the link is hidden altogether.
enum Kind : std::uint8_t {
  template_,
  target,
  shown,
  hidden,
  external,
  table,
  html_table,
  variants
};

struct Frame {
  std::size_t start;  ///< where its output begins; never below that of the frame under it
  Kind kind;
  bool mark;  ///< external: opened with two brackets, as people do; target: shown whatever it is
};

class Page {
 public:
  Page(Wiki const& wiki, std::string_view source, char* out)
      : wiki_(wiki), p_(source.data()), end_(p_ + source.size()), out_(out), begin_(p_) {}

  std::size_t run(std::size_t& work) {
    line_start();
    while (p_ < end_) {
      char const c = *p_;
      if (!kMarks[static_cast<std::uint8_t>(c)]) {
        out_[o_++] = c;
        ++p_;
        continue;
      }
      switch (c) {
        case '\n': newline(); break;
        case '[': open_bracket(); break;
        case ']': close_bracket(); break;
        case '{': open_brace(); break;
        case '}': close_brace(); break;
        case '<': tag(); break;
        case '&': entity(); break;
        case '\'': quotes(); break;
        case '|': bar(); break;
        case ':': colon(); break;
        default: underscores();
      }
    }
    finish_line();
    while (o_ > 0 && is_space(out_[o_ - 1])) --o_;
    work += work_ + static_cast<std::size_t>(end_ - begin_);
    return o_;
  }

 private:
  char at(std::ptrdiff_t i) const { return end_ - p_ > i ? p_[i] : '\0'; }

  std::size_t repeated(char c) const {
    char const* q = p_;
    while (q < end_ && *q == c) ++q;
    return static_cast<std::size_t>(q - p_);
  }

  void put(char c) { out_[o_++] = c; }

  void skip_blanks() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\t')) ++p_;
  }

  /// Parts the words around something that disappears, by one blank however many there were.
  void part() {
    skip_blanks();
    if (o_ > 0 && !is_space(out_[o_ - 1]) && !is_space(at(0))) put(' ');
  }

  // -- what is open -----------------------------------------------------------------------------

  bool top_is(Kind kind) const { return !frames_.empty() && frames_.back().kind == kind; }
  bool top_is_link() const { return top_is(target) || top_is(shown) || top_is(hidden); }
  std::size_t floor() const { return frames_.empty() ? 0 : frames_.back().start; }

  void push(Kind kind, std::size_t start, bool mark = false) {
    frames_.push_back({start, kind, mark});
    ++open_[kind];
  }

  Frame pop() {
    Frame const frame = frames_.back();
    frames_.pop_back();
    --open_[frame.kind];
    return frame;
  }

  /// Takes back what was written since.
  void take_back(std::size_t start) {
    o_ = start;
    if (apostrophe_ != kNowhere && apostrophe_ > start) apostrophe_ = kNowhere;
  }

  /// Closes the innermost frame of a kind that is open, with all that was left open in it, and
  /// takes back what they wrote.
  void drop(Kind kind) {
    Frame frame = pop();
    while (frame.kind != kind) frame = pop();
    take_back(frame.start);
    part();
  }

  // -- lines ------------------------------------------------------------------------------------

  void newline() {
    finish_line();
    while (top_is(external)) pop();
    if (at(1) == '\n')  // no link goes on in another paragraph
      while (top_is(external) || top_is_link()) pop();
    if (o_ > 0 && !(o_ > 1 && out_[o_ - 1] == '\n' && out_[o_ - 2] == '\n')) put('\n');
    ++p_;
    line_start();
  }

  void line_start() {
    line_ = p_;
    heading_ = kNowhere;
    bold_ = italic_ = false;
    apostrophe_ = kNowhere;
    while (p_ < end_ && (*p_ == '*' || *p_ == '#' || *p_ == ':' || *p_ == ';')) ++p_;
    bool const marked = p_ > line_;
    skip_blanks();
    if (at(0) == '{' && at(1) == '|' && at(2) != '}') {
      push(table, o_);
      skip_line();
    } else if (at(0) == '|' && !top_is_link()) {
      bar_at_line_start();
    } else if (at(0) == '=' && !marked) {
      heading();
    } else if (std::size_t const n = repeated('-'); n >= 4) {
      p_ += n;
    }
  }

  char const* line_end() {
    void const* const found = std::memchr(p_, '\n', static_cast<std::size_t>(end_ - p_));
    char const* const line = found ? static_cast<char const*>(found) : end_;
    work_ += static_cast<std::size_t>(line - p_);
    return line;
  }

  void skip_line() { p_ = line_end(); }

  void heading() {
    char const* last = line_end();
    while (last > p_ && is_space(last[-1])) --last;
    if (at(1) != '=' && (last - p_ < 3 || last[-1] != '=')) return;
    // Nothing reaches across a heading. Where one seems to, its end was forgotten, and this keeps
    // it from taking the rest of the article along.
    frames_.clear();
    open_.fill(0);
    p_ += repeated('=');
    skip_blanks();
    heading_ = o_;
  }

  void bar_at_line_start() {
    if (at(1) == '-' && (frames_.empty() || top_is(table))) return skip_line();
    if (at(1) != '}') return;
    bool const both = at(2) == '}' && at(3) != '}';  // "|}}": an empty parameter, or "|}" and "}"
    if (open_[table] > 0 && !(both && innermost() == template_)) {
      p_ += 2;
      drop(table);
    } else if (open_[template_] == 0) {
      p_ += 2;
    }
  }

  /// The innermost of templates and tables, one of which is open.
  Kind innermost() const {
    std::size_t i = frames_.size();
    while (frames_[i - 1].kind != template_ && frames_[i - 1].kind != table) --i;
    return frames_[i - 1].kind;  // whatever is above it is popped next: a linear search in all
  }

  void finish_line() {
    if (heading_ != kNowhere) {
      std::size_t const from = std::max(heading_, floor());
      while (o_ > from && (is_space(out_[o_ - 1]) || out_[o_ - 1] == '=')) --o_;
    }
    // An odd bold and an odd italic: one of the three quotes was an apostrophe (l'''Odissea'').
    if (bold_ && italic_ && apostrophe_ != kNowhere && floor() <= apostrophe_ &&
        apostrophe_ <= o_) {
      std::memmove(out_ + apostrophe_ + 1, out_ + apostrophe_, o_ - apostrophe_);
      work_ += o_ - apostrophe_;
      out_[apostrophe_] = '\'';
      ++o_;
    }
  }

  void quotes() {
    std::size_t const n = repeated('\'');
    if (n == 1 || n == 4) put('\'');
    if (n >= 2 && open_[template_] == 0) {
      if (n == 2 || n >= 5) italic_ = !italic_;
      if (n >= 3) bold_ = !bold_;
      if (n == 3 && o_ > floor() && !is_space(out_[o_ - 1])) {
        bool const single = o_ == floor() + 1 || is_space(out_[o_ - 2]);
        if (apostrophe_ == kNowhere || (single && !single_)) {
          apostrophe_ = o_;
          single_ = single;
        }
      }
    }
    p_ += n;
  }

  // -- links ------------------------------------------------------------------------------------

  void open_bracket() {
    if (at(1) == '[' && at(2) != '[') {
      if (char const* const url = address(p_ + 2)) return open_external(url, true);
      p_ += 2;
      // [[:Category:Wine]] is a link like any other, shown without the colon
      bool const plain = at(0) == ':';
      push(target, o_, plain);
      if (plain) ++p_;
    } else if (char const* const url = at(1) == '[' ? nullptr : address(p_ + 1)) {
      open_external(url, false);
    } else {
      put('[');
      ++p_;
    }
  }

  void open_external(char const* url, bool twice) {
    push(external, o_, twice);
    p_ = after_address(url);
    skip_blanks();
  }

  void close_bracket() {
    if (top_is(external)) {
      p_ += pop().mark && at(1) == ']' ? 2 : 1;
    } else if (at(1) != ']') {
      put(']');
      ++p_;
    } else {
      p_ += 2;
      if (!top_is_link()) return;
      Frame const frame = pop();
      if (frame.kind == shown || (frame.kind == target && !is_hidden(frame))) return;
      take_back(frame.start);
      if (o_ == 0 || is_space(out_[o_ - 1])) skip_blanks();
    }
  }

  void bar() {
    ++p_;
    if (top_is(variants)) return put('|');
    if (!top_is(target)) return part();
    Frame& frame = frames_.back();
    --open_[target];
    frame.kind = is_hidden(frame) ? hidden : shown;
    ++open_[frame.kind];
    if (frame.kind == shown) take_back(frame.start);
  }

  /// Whether a link shows no text: pictures, categories, the same page in other languages.
  bool is_hidden(Frame const& link) const {
    std::string_view const whole(out_ + link.start, o_ - link.start);
    std::size_t const colon = whole.substr(0, sizeof(Lower::text)).find(':');
    if (link.mark || colon == whole.npos || colon + 1 == whole.size()) return false;
    std::string_view prefix = whole.substr(0, colon);
    while (!prefix.empty() && is_blank(prefix.front())) prefix.remove_prefix(1);
    while (!prefix.empty() && is_blank(prefix.back())) prefix.remove_suffix(1);
    if (prefix.empty()) return false;
    if (!is_space(whole[colon + 1]) && is_language(prefix)) return true;
    Lower name(prefix);
    std::replace(name.text, name.text + name.size, '_', ' ');
    if (wiki_.files.contains(name.view()) || wiki_.categories.contains(name.view())) return true;
    std::string_view const tail =
        whole.substr(whole.size() - std::min<std::size_t>(6, whole.size()));
    std::size_t const dot = tail.rfind('.');
    return dot != tail.npos && listed(kMedia, Lower(tail.substr(dot + 1)).view());
  }

  static bool is_blank(char c) { return c == ' ' || c == '_' || c == '\t'; }

  /// The end of an address's scheme at `q`, or nothing.
  char const* address(char const* q) const {
    char const* const scheme = q;
    while (q < end_ && q - scheme < 10 && is_alpha(*q)) ++q;
    bool const slashes = end_ - q > 2 && q[0] == ':' && q[1] == '/' && q[2] == '/';
    std::string_view const name(scheme, static_cast<std::size_t>(q - scheme));
    if (slashes && listed(kSchemes, Lower(name).view())) return q + 3;
    if (name.empty() && end_ - q > 2 && q[0] == '/' && q[1] == '/' && is_alnum(q[2])) return q + 2;
    if (q < end_ && *q == ':' && listed(kBareSchemes, Lower(name).view())) return q + 1;
    return nullptr;
  }

  char const* after_address(char const* q) const {
    auto const byte = [&](std::ptrdiff_t i) {
      return end_ - q > i ? static_cast<std::uint8_t>(q[i]) : std::uint8_t{0};
    };
    for (; q < end_; ++q) {
      if (byte(0) <= ' ' || std::strchr("[]{}<>\"|", *q)) break;
      if (*q == '\'' && byte(1) == '\'') break;
      // Chinese and Japanese punctuation, after which there is no blank
      if ((byte(0) == 0xE3 && byte(1) == 0x80) || (byte(0) == 0xEF && byte(1) == 0xBC)) break;
    }
    return q;
  }

  void colon() {
    if (at(1) == '/' && at(2) == '/') {
      std::size_t scheme = o_;
      while (scheme > floor() && o_ - scheme < 10 && is_alpha(out_[scheme - 1])) --scheme;
      if (listed(kSchemes, Lower({out_ + scheme, o_ - scheme}).view())) {
        take_back(scheme);
        p_ = after_address(p_ + 3);
        return;
      }
    }
    put(':');
    ++p_;
  }

  // -- braces -----------------------------------------------------------------------------------

  void open_brace() {
    std::size_t const n = repeated('{');
    if (n == 1 && p_ > begin_ && p_[-1] == '-' && open_[variants] == 0 && o_ > floor() &&
        out_[o_ - 1] == '-') {
      push(variants, --o_);
    } else if (n == 1) {
      put('{');
    }
    for (std::size_t i = 0; i < n / 2; ++i) push(template_, o_);
    p_ += n;
  }

  void close_brace() {
    std::size_t const n = repeated('}');
    p_ += n;
    for (std::size_t i = 0; i < n / 2 && open_[template_] > 0; ++i) drop(template_);
    if (n % 2 == 0) return;
    if (at(0) == '-' && top_is(variants)) {
      ++p_;
      choose_variant(pop().start);
    } else if (n == 1) {
      put('}');
    }
  }

  /// Of -{zh-hans:计算机;zh-hant:電腦}-, keeps the first; no such region is within another.
  void choose_variant(std::size_t start) {
    std::string_view rule(out_ + start, o_ - start);
    work_ += 3 * rule.size();
    take_back(start);
    if (std::size_t const flags = rule.substr(0, 24).find('|'); flags != rule.npos) {
      if (rule.substr(0, flags).find_first_of("THD-") != rule.npos) return;
      rule.remove_prefix(flags + 1);
    }
    std::string_view first = rule.substr(0, rule.find(';'));
    if (std::size_t const to = first.find("=>"); to != first.npos) first.remove_prefix(to + 2);
    while (!first.empty() && is_space(first.front())) first.remove_prefix(1);
    if (std::size_t const colon = first.substr(0, 12).find(':'); colon != first.npos) {
      if (is_language(first.substr(0, colon))) rule = first.substr(colon + 1);
    }
    std::memmove(out_ + o_, rule.data(), rule.size());
    o_ += rule.size();
  }

  // -- tags, entities, magic words --------------------------------------------------------------

  void tag() {
    if (std::string_view(p_, static_cast<std::size_t>(end_ - p_)).starts_with("<!--")) {
      return comment();
    }
    bool const closing = at(1) == '/';
    char const* q = p_ + 1 + closing;
    char const* const name_begin = q;
    while (q < end_ && is_alnum(*q)) ++q;
    std::string_view const name(name_begin, static_cast<std::size_t>(q - name_begin));
    char const* const after = after_tag(q);
    if (name.empty() || !is_alpha(name.front()) || after == nullptr) {
      work_ += name.size();
      put('<');
      ++p_;
      return;
    }
    Lower const lowered(name);
    bool const nowiki = lowered.view() == "nowiki", opaque = listed(kOpaque, lowered.view());
    bool const alone = after[-2] == '/';
    p_ = after;
    if ((nowiki || opaque) && !closing && !alone) {
      auto const [text_end, next] = closing_tag(lowered.view());
      if (next != nullptr) {
        if (nowiki) verbatim(text_end);
        p_ = next;
      }
    } else if (lowered.view() == "table" && !alone) {
      if (!closing) return push(html_table, o_);
      if (open_[html_table] > 0) drop(html_table);
    }
    if (!nowiki && !listed(kInline, lowered.view())) part();
  }

  /// Past the ">" of a tag whose name ends at `q`; nothing if it is no tag.
  char const* after_tag(char const* q) {
    if (q == end_ || !(is_space(*q) || *q == '/' || *q == '>')) return nullptr;
    for (char const* const from = q; q < end_ && q - from < 2000; ++q) {
      if (*q == '<' || (*q == '\n' && end_ - q > 1 && q[1] == '\n')) break;
      if (*q == '>') return q + 1;
      ++work_;
    }
    return nullptr;
  }

  void comment() {
    bool const alone = p_ == line_;
    std::string_view const rest(p_, static_cast<std::size_t>(end_ - p_));
    std::size_t const found = comments_end_ ? rest.find("-->", 4) : rest.npos;
    if (comments_end_) work_ += std::min(found, rest.size());
    comments_end_ = found != rest.npos;
    p_ += comments_end_ ? found + 3 : 4;
    if (!alone) return;
    if (at(0) == '\n') ++p_;
    line_start();  // what follows stands at the beginning of a line
  }

  struct Closing {
    char const* text_end;
    char const* next;
  };

  /// The tag that closes an opaque one. It was forgotten where the same is opened again before it,
  /// or, as references are short, a heading comes before it.
  Closing closing_tag(std::string_view name) {
    for (char const* q = p_; q < end_; ++q) {
      void const* const found = std::memchr(q, '<', static_cast<std::size_t>(end_ - q));
      char const* const next = found ? static_cast<char const*>(found) : end_;
      work_ += static_cast<std::size_t>(next - q) + 1;
      if (next == end_) break;
      q = next;
      bool const closing = end_ - q > 1 && q[1] == '/';
      char const* const word = q + 1 + closing;
      if (end_ - word < static_cast<std::ptrdiff_t>(name.size())) break;
      if (Lower({word, name.size()}).view() != name) continue;
      char const* const after = after_tag(word + name.size());
      if (after == nullptr) continue;
      if (!closing) break;
      if (name == "ref") {
        std::string_view const text(p_, static_cast<std::size_t>(q - p_));
        work_ += text.size();
        if (text.find("\n==") != text.npos) break;
      }
      return {q, after};
    }
    return {nullptr, nullptr};
  }

  void verbatim(char const* text_end) {
    while (p_ < text_end) {
      if (*p_ == '&')
        entity();
      else
        put(*p_++);
    }
  }

  void entity() {
    char const* q = p_ + 1;
    bool const number = at(1) == '#';
    bool const hex = number && lower(at(2)) == 'x';
    q += number + hex;
    char const* const begin = q;
    while (q < end_ && q - begin < 12 && is_alnum(*q)) ++q;
    std::string_view const name(begin, static_cast<std::size_t>(q - begin));
    if (q < end_ && *q == ';' && !name.empty()) {
      if (number ? numbered(name, hex ? 16 : 10) : named(name)) {
        p_ = q + 1;
        return;
      }
    }
    put('&');
    ++p_;
  }

  bool named(std::string_view name) {
    auto const found = wiki_.entities.find(name);
    if (found == wiki_.entities.end()) return false;
    std::memcpy(out_ + o_, found->second.data(), found->second.size());
    o_ += found->second.size();
    return true;
  }

  bool numbered(std::string_view digits, std::uint32_t base) {
    std::uint32_t code = 0;
    for (char const c : digits) {
      std::uint32_t const digit = is_digit(c)   ? static_cast<std::uint32_t>(c - '0')
                                  : is_alpha(c) ? static_cast<std::uint32_t>(lower(c) - 'a' + 10)
                                                : 99;
      if (digit >= base) return false;
      code = std::min<std::uint32_t>(code * base + digit, 0x110000);
    }
    if (code < 0x20 || code == 0xA0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      put(' ');  // blanks, and what is no character
    } else if (code < 0x80) {
      put(static_cast<char>(code));
    } else if (code != 0xAD) {  // a soft hyphen is within a word
      char const tail = static_cast<char>(0x80 | (code & 0x3F));
      if (code < 0x800) {
        put(static_cast<char>(0xC0 | (code >> 6)));
      } else {
        if (code < 0x10000) {
          put(static_cast<char>(0xE0 | (code >> 12)));
        } else {
          put(static_cast<char>(0xF0 | (code >> 18)));
          put(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
        }
        put(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
      }
      put(tail);
    }
    return true;
  }

  /// __NOTOC__ and the like in any language; names of programmers are in lower case.
  void underscores() {
    std::size_t const n = repeated('_');
    char const* q = p_ + n;
    if (n == 2) {
      while (q < end_ && q - p_ < 80 && (is_upper(*q) || is_high(*q) || *q == '_')) ++q;
      work_ += static_cast<std::size_t>(q - p_);
      if (q - p_ > 4 && q[-1] == '_' && q[-2] == '_') {
        p_ = q;
        return;
      }
    }
    std::memset(out_ + o_, '_', n);
    o_ += n;
    p_ += n;
  }

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  Wiki const& wiki_;
  char const* p_;
  char const* const end_;
  char* const out_;
  char const* const begin_;
  std::size_t o_ = 0;
  std::size_t work_ = 0;
  std::vector<Frame> frames_;
  std::array<std::size_t, 8> open_{};  ///< frames by kind
  char const* line_ = nullptr;
  std::size_t heading_ = kNowhere;     ///< where the heading of this line begins
  std::size_t apostrophe_ = kNowhere;  ///< where one may be missing in this line
  bool single_ = false;                ///< ... after a single letter
  bool bold_ = false, italic_ = false;
  bool comments_end_ = true;  ///< whether there may be another "-->"
};

}  // namespace

std::size_t strip(Wiki const& wiki, std::string_view source, char* out, std::size_t& work) {
  return Page(wiki, source, out).run(work);
}

}  // namespace sgmc::text
