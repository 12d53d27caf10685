#include "wikitext.hpp"

#include <cstring>

#include "wikitext_open.hpp"
#include "wikitext_scan.hpp"

namespace sgmc::text {
namespace {

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
        case '&': ampersand(); break;
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

  std::string_view rest(std::size_t from = 0) const {
    return {p_ + from, static_cast<std::size_t>(end_ - p_) - from};
  }

  std::size_t repeated(char c) const {
    char const* q = p_;
    while (q < end_ && *q == c) ++q;
    return static_cast<std::size_t>(q - p_);
  }

  void put(char c) { out_[o_++] = c; }

  void skip_blanks() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\t')) ++p_;
  }

  /// Separates the words around something removed by one blank, however many blanks there were.
  void part() {
    skip_blanks();
    if (o_ > 0 && !is_space(out_[o_ - 1]) && !is_space(at(0))) put(' ');
  }

  // -- open constructs --------------------------------------------------------------------------

  /// Takes back the output written since `start`.
  void take_back(std::size_t start) {
    o_ = start;
    if (apostrophe_ != kNowhere && apostrophe_ > start) apostrophe_ = kNowhere;
  }

  /// Closes the innermost open frame of a kind, and all frames left open within it, and takes back
  /// their output.
  void drop(Kind kind) {
    take_back(open_.pop_through(kind).start);
    part();
  }

  // -- lines ------------------------------------------------------------------------------------

  void newline() {
    finish_line();
    while (open_.top_is(external)) open_.pop();
    if (at(1) == '\n')  // no link continues in another paragraph
      while (open_.top_is(external) || open_.top_is_link()) open_.pop();
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
      open_.push(table, o_);
      skip_line();
    } else if (at(0) == '|' && !open_.top_is_link()) {
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
    // No construct extends across a heading. If one seems to, its end was forgotten, and this keeps
    // it from removing the rest of the article.
    open_.clear();
    p_ += repeated('=');
    skip_blanks();
    heading_ = o_;
  }

  void bar_at_line_start() {
    if (at(1) == '-' && (open_.none() || open_.top_is(table))) return skip_line();
    if (at(1) != '}') return;
    bool const both = at(2) == '}' && at(3) != '}';  // "|}}": an empty parameter, or "|}" and "}"
    if (open_.any(table) && !(both && open_.innermost() == template_)) {
      p_ += 2;
      drop(table);
    } else if (!open_.any(template_)) {
      p_ += 2;
    }
  }

  void finish_line() {
    if (heading_ != kNowhere) {
      std::size_t const from = std::max(heading_, open_.floor());
      while (o_ > from && (is_space(out_[o_ - 1]) || out_[o_ - 1] == '=')) --o_;
    }
    // An odd bold and an odd italic: one of the three quotes was an apostrophe (l'''Odissea'').
    if (bold_ && italic_ && apostrophe_ != kNowhere && open_.floor() <= apostrophe_ &&
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
    if (n >= 2 && !open_.any(template_)) {
      if (n == 2 || n >= 5) italic_ = !italic_;
      if (n >= 3) bold_ = !bold_;
      if (n == 3 && o_ > open_.floor() && !is_space(out_[o_ - 1])) {
        bool const single = o_ == open_.floor() + 1 || is_space(out_[o_ - 2]);
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
      if (std::size_t const n = scheme(rest(2)); n > 0) return open_external(2 + n, true);
      p_ += 2;
      // [[:Category:Wine]] is an ordinary link, shown without the colon
      bool const plain = at(0) == ':';
      open_.push(target, o_, plain);
      if (plain) ++p_;
    } else if (std::size_t const n = at(1) == '[' ? 0 : scheme(rest(1)); n > 0) {
      open_external(1 + n, false);
    } else {
      put('[');
      ++p_;
    }
  }

  void open_external(std::size_t opening, bool twice) {
    open_.push(external, o_, twice);
    p_ += opening;
    p_ += address(rest());
    skip_blanks();
  }

  void close_bracket() {
    if (open_.top_is(external)) {
      p_ += open_.pop().mark && at(1) == ']' ? 2 : 1;
    } else if (at(1) != ']') {
      put(']');
      ++p_;
    } else {
      p_ += 2;
      if (!open_.top_is_link()) return;
      Frame const frame = open_.pop();
      if (frame.kind == shown || (frame.kind == target && !hides(frame))) return;
      take_back(frame.start);
      if (o_ == 0 || is_space(out_[o_ - 1])) skip_blanks();
    }
  }

  void bar() {
    ++p_;
    if (open_.top_is(variants)) return put('|');
    if (!open_.top_is(target)) return part();
    Frame const link = open_.pop();
    bool const hide = hides(link);
    open_.push(hide ? hidden : shown, link.start);
    if (hide) return part();
    take_back(link.start);
  }

  /// For a link whose target was just written.
  bool hides(Frame const& link) const {
    return !link.mark && is_hidden(wiki_, {out_ + link.start, o_ - link.start});
  }
  void colon() {
    if (at(1) == '/' && at(2) == '/') {
      std::size_t begin = o_;
      while (begin > open_.floor() && o_ - begin < 10 && is_alpha(out_[begin - 1])) --begin;
      if (listed(kSchemes, Lower({out_ + begin, o_ - begin}).view())) {
        take_back(begin);
        p_ += 3;
        p_ += address(rest());
        return;
      }
    }
    put(':');
    ++p_;
  }

  // -- braces -----------------------------------------------------------------------------------

  void open_brace() {
    std::size_t const n = repeated('{');
    if (n == 1 && p_ > begin_ && p_[-1] == '-' && !open_.any(variants) && o_ > open_.floor() &&
        out_[o_ - 1] == '-') {
      open_.push(variants, --o_);
    } else if (n == 1) {
      put('{');
    }
    for (std::size_t i = 0; i < n / 2; ++i) open_.push(template_, o_);
    p_ += n;
  }

  void close_brace() {
    std::size_t const n = repeated('}');
    p_ += n;
    for (std::size_t i = 0; i < n / 2 && open_.any(template_); ++i) drop(template_);
    if (n % 2 == 0) return;
    if (at(0) == '-' && open_.top_is(variants)) {
      ++p_;
      choose_variant(open_.pop().start);
    } else if (n == 1) {
      put('}');
    }
  }

  /// Such regions are not nested, so that all of them together are read once.
  void choose_variant(std::size_t start) {
    std::string_view const rule(out_ + start, o_ - start);
    std::string_view const shown_text = variant(rule);
    work_ += 3 * rule.size();
    take_back(start);
    std::memmove(out_ + o_, shown_text.data(), shown_text.size());
    o_ += shown_text.size();
  }

  // -- tags, entities, magic words --------------------------------------------------------------

  void tag() {
    if (rest().starts_with("<!--")) return comment();
    bool const closing = at(1) == '/';
    std::size_t begin = 1 + closing, end = begin;
    while (is_alnum(at(static_cast<std::ptrdiff_t>(end)))) ++end;
    std::string_view const name = rest(begin).substr(0, end - begin);
    std::size_t const past = end + tag_end(rest(end), work_);
    if (name.empty() || !is_alpha(name.front()) || past == end) {
      work_ += name.size();
      put('<');
      ++p_;
      return;
    }
    Lower const lowered(name);
    bool const nowiki = lowered.view() == "nowiki", opaque = listed(kOpaque, lowered.view());
    bool const alone = p_[past - 2] == '/';
    p_ += past;
    if ((nowiki || opaque) && !closing && !alone) {
      Closing const found = closing_tag(rest(), lowered.view(), work_);
      char const* const next = p_ + found.end;
      if (nowiki) verbatim(p_ + found.begin);
      p_ = next;
    } else if (lowered.view() == "table" && !alone) {
      if (!closing) return open_.push(html_table, o_);
      if (open_.any(html_table)) drop(html_table);
    }
    if (!nowiki && !listed(kInline, lowered.view())) part();
  }

  void comment() {
    bool const alone = p_ == line_;
    std::size_t found = std::string_view::npos;
    if (comments_end_) {
      found = rest().find("-->", 4);
      work_ += std::min(found, rest().size());
    }
    comments_end_ = found != std::string_view::npos;
    p_ += comments_end_ ? found + 3 : 4;
    if (!alone) return;
    if (at(0) == '\n') ++p_;
    line_start();  // the following text is at the start of a line
  }

  void verbatim(char const* text_end) {
    while (p_ < text_end) {
      if (*p_ == '&')
        ampersand();
      else
        put(*p_++);
    }
  }

  void ampersand() {
    Entity const found = entity(wiki_, rest(), out_ + o_);
    if (found.bytes == 0) put('&');
    o_ += found.written;
    p_ += std::max<std::size_t>(found.bytes, 1);
  }

  /// __NOTOC__ and the like, in any language; programmers' names are in lower case.
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
  Open open_;
  char const* line_ = nullptr;
  std::size_t heading_ = kNowhere;     ///< begin of this line's heading
  std::size_t apostrophe_ = kNowhere;  ///< position of a possibly missing one in this line
  bool single_ = false;                ///< ... after a single letter
  bool bold_ = false, italic_ = false;
  bool comments_end_ = true;  ///< whether there may be another "-->"
};

}  // namespace

std::size_t strip(Wiki const& wiki, std::string_view source, char* out, std::size_t& work) {
  return Page(wiki, source, out).run(work);
}

}  // namespace sgmc::text
