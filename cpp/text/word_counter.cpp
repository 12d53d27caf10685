#include "word_counter.hpp"

#include <atomic>
#include <bit>
#include <memory>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sgmc::text {
namespace {

/// Class of a byte: a folded word character, or one of these.
constexpr std::uint8_t kSeparator = 0, kNul = 1, kHigh = 2, kFirstWord = 3;

constexpr auto kFold = [] {
  std::array<std::uint8_t, 256> fold{};
  for (std::size_t c = 0; c < 256; ++c) {
    bool const upper = c >= 'A' && c <= 'Z';
    bool const word = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    auto const lower = static_cast<std::uint8_t>(upper ? c + 32 : c);
    fold[c] = c >= 128 ? kHigh : word ? lower : kSeparator;
  }
  fold[0] = kNul;
  return fold;
}();

/// The text between two words: nothing relevant, a line end, or the end of a unit.
constexpr std::uint8_t kJoins = 0, kLineEnd = 1, kParts = 2;
constexpr auto kGap = [] {
  std::array<std::uint8_t, 256> gap{};
  gap.fill(kParts);
  for (char const c : {' ', '\t', '\r', '-', '\''}) gap[static_cast<std::uint8_t>(c)] = kJoins;
  gap['\n'] = kLineEnd;
  return gap;
}();

/// Fold the word characters that 16 bytes begin with, all at once if possible; returns their
/// number. Words are short, and a loop over their bytes would guess wrong at the end of each.
constexpr int kLanes = 16;
#ifdef __SSE2__
std::size_t fold_lanes(std::uint8_t const* p, char* out) {
  auto const in = [](__m128i x, char first, int size) {
    __m128i const from_first = _mm_sub_epi8(x, _mm_set1_epi8(first));
    __m128i const most = _mm_set1_epi8(static_cast<char>(size - 1));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_first, most), from_first);
  };
  __m128i const x = _mm_loadu_si128(reinterpret_cast<__m128i const*>(p));
  __m128i const bit = _mm_set1_epi8(0x20);
  __m128i const letter = in(_mm_or_si128(x, bit), 'a', 26);
  __m128i const other = _mm_or_si128(in(x, '0', 10), _mm_cmpeq_epi8(x, _mm_set1_epi8('_')));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_or_si128(x, _mm_and_si128(letter, bit)));
  int const words = _mm_movemask_epi8(_mm_or_si128(letter, other));
  return static_cast<std::size_t>(std::countr_one(static_cast<std::uint32_t>(words)));
}
#else
std::size_t fold_lanes(std::uint8_t const*, char*) { return 0; }
#endif

/// True for a word of underscores alone, such as a line of a form: it is no word.
bool is_rule(std::string_view word) {
  return word.front() == '_' && word.find_first_not_of('_') == std::string_view::npos;
}

/// Decode one character at `p`, which is before a NUL; returns its size, 0 if it is not UTF-8.
int decode(std::uint8_t const* p, std::uint32_t& character) {
  auto const tail = [&](int i) { return (p[i] & 0xc0u) == 0x80u; };
  auto const bits = [&](int i) { return p[i] & 0x3fu; };
  if (p[0] < 0xc2) return 0;
  if (p[0] < 0xe0) {
    if (!tail(1)) return 0;
    character = (p[0] & 0x1fu) << 6 | bits(1);
    return 2;
  }
  if (p[0] < 0xf0) {
    if (!tail(1) || !tail(2)) return 0;
    character = (p[0] & 0x0fu) << 12 | bits(1) << 6 | bits(2);
    return character >= 0x800 && (character < 0xd800 || character > 0xdfff) ? 3 : 0;
  }
  if (p[0] > 0xf4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  character = (p[0] & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
  return character >= 0x10000 && character < 0x110000 ? 4 : 0;
}

/// Pages that a thread needed, for all threads; they stay.
std::array<std::atomic<Page const*>, kPages> pages{};

Character const* describe(std::uint32_t character, Unicode const& unicode) {
  std::uint32_t const number = character / kPageSize;
  Page const* page = pages[number].load(std::memory_order_acquire);
  if (page == nullptr) {
    auto mine = std::make_unique<Page>();
    if (!unicode.page(unicode.self, number, *mine)) return nullptr;
    if (pages[number].compare_exchange_strong(page, mine.get(), std::memory_order_acq_rel))
      page = mine.release();
  }
  return &(*page)[character % kPageSize];
}

}  // namespace

template <bool Ordered>
Verdict WordCounter::scan(std::string_view document, Unicode const& unicode) {
  auto const* p = reinterpret_cast<std::uint8_t const*>(document.data());
  auto const* const end = p + document.size();
  if (folded_.size() < document.size() + kLanes) folded_.resize(document.size() + kLanes);
  for (;;) {
    if constexpr (Ordered) {
      int lines = 0;
      for (; kFold[*p] == kSeparator; ++p)
        lines += kGap[*p] == kLineEnd ? 1 : kGap[*p] == kParts ? 2 : 0;
      if (lines > 1) no_neighbour();
    } else {
      while (kFold[*p] == kSeparator) ++p;
    }
    auto const* const start = p;
    char* low = folded_.data();
    if (end - p >= kLanes) {
      std::size_t const folded = fold_lanes(p, low);
      p += folded;
      low += folded;
    }
    std::uint8_t c;
    for (; (c = kFold[*p]) >= kFirstWord; ++p) *low++ = static_cast<char>(c);
    auto const size = static_cast<std::size_t>(p - start);
    if (c == kHigh) {
      while (kFold[*p] >= kHigh) ++p;
      Verdict const verdict = add_stretch(
          {reinterpret_cast<char const*>(start), static_cast<std::size_t>(p - start)}, unicode);
      if (verdict != Verdict::good) return verdict;
    } else if (std::string_view const word(folded_.data(), size); size > 1 && !is_rule(word)) {
      if constexpr (Ordered)
        token(word);
      else
        count(words_.insert(word, Key(word)));
    } else if (Ordered && size > 0) {
      no_neighbour();
    }
    if (*p == 0) return p == end ? Verdict::good : Verdict::has_nul;
  }
}

Verdict WordCounter::add(std::string_view document, Unicode const& unicode) {
  std::int32_t const known = words_.size();
  Verdict const verdict =
      in_order_ ? scan<true>(document, unicode) : scan<false>(document, unicode);
  if (verdict == Verdict::good) {
    if (in_order_) count_in_order();
    commit();
  } else {
    roll_back(known);
  }
  sequence_.clear();
  return verdict;
}

/// A stretch is the text between two ASCII characters that are no word characters. Nothing in it
/// depends on the text outside, see _tokenize.pyx.
Verdict WordCounter::add_stretch(std::string_view stretch, Unicode const& unicode) {
  Split split = this->split(stretch, false, unicode);
  if (split == Split::not_normal) {
    if (!unicode.normalise(unicode.self, stretch, normal_)) return Verdict::failed;
    split = this->split(normal_, true, unicode);
  }
  if (split == Split::failed) return Verdict::failed;
  if (split == Split::not_utf8) return Verdict::not_utf8;
  bool const alone = tokens_.size() == 1;  // else the kind of gap is unknown
  if (in_order_ && !alone) no_neighbour();
  for (Token const it : tokens_) {
    token({it.begin, static_cast<std::size_t>(it.end - it.begin)});
    if (in_order_ && !alone) no_neighbour();
  }
  return Verdict::good;
}

/// Fold a stretch and find the words in it. Unless the stretch is known to be in normal form C,
/// stop at a character that composition may change, and at a mark that canonical order puts
/// elsewhere.
WordCounter::Split WordCounter::split(std::string_view stretch, bool normal,
                                      Unicode const& unicode) {
  // A character of two bytes or more becomes five at most.
  if (folded_.size() < 3 * stretch.size()) folded_.resize(3 * stretch.size());
  tokens_.clear();
  char* out = folded_.data();
  char const* run = out;   // begin of the current run
  char const* last = out;  // its last character
  Role role = Role::separator;
  std::uint8_t order = 0;  // combining class of the character before
  auto const close = [&] {
    bool const several = last > run;
    if (role == Role::ideograph ? !several && out > run
                                : several && !is_rule({run, static_cast<std::size_t>(out - run)}))
      tokens_.push_back({run, out});
    role = Role::separator;
    run = last = out;
  };
  auto const append = [&](char const* text, int size, Role its) {
    if (its >= Role::ignored) {  // a mark without a letter is no part of a word
      if (its == Role::ignored || role == Role::separator || role == Role::ideograph) return;
      if (its == Role::vowel) last = out;
      for (int i = 0; i < size; ++i) *out++ = text[i];
      return;
    }
    if (its != role) close();
    if (its == Role::separator) return;
    bool const first = out == run;
    char const* const here = out;
    for (int i = 0; i < size; ++i) *out++ = text[i];
    if (its == Role::ideograph && !first) tokens_.push_back({last, out});
    role = its;
    last = here;
  };

  auto const* p = reinterpret_cast<std::uint8_t const*>(stretch.data());
  auto const* const end = p + stretch.size();
  while (p < end) {
    std::uint8_t const c = kFold[*p];
    if (c != kHigh) {
      char const folded = static_cast<char>(c);
      append(&folded, 1, c >= kFirstWord ? Role::letter : Role::separator);
      order = 0;
      ++p;
      continue;
    }
    std::uint32_t number;
    int const size = decode(p, number);
    if (size == 0) return Split::not_utf8;
    Character const* const it = describe(number, unicode);
    if (it == nullptr) return Split::failed;
    if (!normal && it->order != 0 && (it->order == kComposes || it->order < order)) {
      for (; p < end; p += *p < 128 ? 1 : decode(p, number))
        if (*p >= 128 && decode(p, number) == 0) return Split::not_utf8;
      return Split::not_normal;
    }
    p += size;
    if (it->role != Role::ignored) order = it->order;
    if (it->role != Role::several) {
      append(it->folded.data(), it->size, it->role);
      continue;
    }
    for (int i = 0, n; i < it->size; i += n) {
      auto const lead = static_cast<std::uint8_t>(it->folded[static_cast<std::size_t>(i)]);
      n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      append(it->folded.data() + i, n, lead == ' ' ? Role::separator : Role::letter);
    }
  }
  close();
  return Split::done;
}

void WordCounter::token(std::string_view word) {
  if (!in_order_) return count(word);
  std::int32_t const id = seen_.insert(word, Key(word));
  if (static_cast<std::size_t>(id) == part_.size()) {
    part_.push_back(phrases_ == nullptr ? -1 : phrases_->part(word));
    counted_.push_back(-1);
  }
  sequence_.push_back(id);
}

/// Count the document under way, greedily: the longest phrase that begins at a word, or the word.
void WordCounter::count_in_order() {
  auto const at = [](auto& values, std::int32_t i) -> auto& {
    return values[static_cast<std::size_t>(i)];
  };
  auto const kept = [&](std::int32_t id) {
    if (keeps_) order_.push_back(id);
  };
  for (std::size_t i = 0; i < sequence_.size();) {
    std::int32_t const seen = sequence_[i];
    if (seen < 0) {
      kept(-1);
      ++i;
      continue;
    }
    std::size_t end = 0;
    std::int32_t longest = 0, node = 0;
    for (std::size_t j = i; j < sequence_.size() && sequence_[j] >= 0; ++j) {
      std::int32_t const part = at(part_, sequence_[j]);
      if (part < 0 || (node = phrases_->next(node, part)) < 0) break;
      if (!phrases_->name(node).empty()) {
        end = j + 1;
        longest = node;
      }
    }
    if (end > 0) {
      std::string_view const name = phrases_->name(longest);
      std::int32_t const id = words_.insert(name, Key(name));
      count(id);
      kept(id);
      i = end;
      continue;
    }
    std::int32_t& id = at(counted_, seen);
    if (id < 0) {
      std::string_view const word = seen_.word(seen);
      id = words_.insert(word, Key(word));
    }
    count(id);
    kept(id);
    ++i;
  }
  kept(-1);
}

void WordCounter::count(std::int32_t id) {
  auto const word = static_cast<std::size_t>(id);
  if (word == last_.size()) last_.push_back(-1);
  std::int64_t const at = last_[word];
  if (at >= indptr_.back()) {  // an entry of this document
    ++counts_[static_cast<std::size_t>(at)];
    return;
  }
  last_[word] = static_cast<std::int64_t>(ids_.size());
  ids_.push_back(id);
  counts_.push_back(1);
}

void WordCounter::roll_back(std::int32_t known) {
  auto const entries = static_cast<std::size_t>(indptr_.back());
  for (std::size_t e = entries; e < ids_.size(); ++e) last_[static_cast<std::size_t>(ids_[e])] = -1;
  ids_.resize(entries);
  counts_.resize(entries);
  words_.forget_from(known);
  last_.resize(static_cast<std::size_t>(known));
}

void WordCounter::clear() {
  constexpr std::size_t kKeep = std::size_t{1} << 22;
  if (words_.capacity() > kKeep / 16 || seen_.capacity() > kKeep / 16 ||
      sequence_.capacity() > kKeep || order_.capacity() > kKeep || ids_.capacity() > kKeep ||
      folded_.capacity() > kKeep) {
    *this = WordCounter();
    return;
  }
  words_.forget_from(0);
  last_.clear();
  indptr_.assign(1, 0);
  ids_.clear();
  counts_.clear();
  in_order(nullptr, false);
  seen_.forget_from(0);
  part_.clear();
  counted_.clear();
  sequence_.clear();
  order_.clear();
}

}  // namespace sgmc::text
