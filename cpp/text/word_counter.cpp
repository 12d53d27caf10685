#include "word_counter.hpp"

#include <array>
#include <new>

namespace sgmc::text {
namespace {

enum Kind : std::uint8_t { kSeparator, kWord, kHigh, kNul };

constexpr auto kKind = [] {
  std::array<std::uint8_t, 256> kind{};
  for (int c = 0; c < 256; ++c) {
    bool const word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    kind[static_cast<std::size_t>(c)] = c >= 128 ? kHigh : word || c == '_' ? kWord : kSeparator;
  }
  kind[0] = kNul;
  return kind;
}();

constexpr auto kLower = [] {
  std::array<std::uint8_t, 256> lower{};
  for (int c = 0; c < 256; ++c)
    lower[static_cast<std::size_t>(c)] =
        static_cast<std::uint8_t>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower;
}();

}  // namespace

Verdict WordCounter::add(std::string_view document, Fold fold) {
  std::int32_t const known = words_.size();
  Verdict const verdict = scan(document, fold);
  if (verdict == Verdict::good) {
    commit();
  } else {
    auto const entries = static_cast<std::size_t>(indptr_.back());
    for (std::size_t e = entries; e < ids_.size(); ++e)
      last_[static_cast<std::size_t>(ids_[e])] = -1;
    ids_.resize(entries);
    counts_.resize(entries);
    words_.forget_from(known);
    last_.resize(static_cast<std::size_t>(known));
  }
  return verdict;
}

Verdict WordCounter::scan(std::string_view document, Fold fold) {
  auto const* p = reinterpret_cast<std::uint8_t const*>(document.data());
  auto const* const end = p + document.size();
  if (scratch_.size() < document.size()) scratch_.resize(document.size());
  while (p < end) {
    std::uint8_t const kind = kKind[*p];
    if (kind == kSeparator) {
      ++p;
      continue;
    }
    if (kind == kNul) return Verdict::has_nul;
    auto const* const start = p;
    char* low = scratch_.data();
    std::uint32_t h = kHashStart;
    for (; p < end && kKind[*p] == kWord; ++p) {
      std::uint8_t const c = kLower[*p];
      h = hash_byte(h, c);
      *low++ = static_cast<char>(c);
    }
    if (p < end && kKind[*p] == kHigh) {
      while (p < end && (kKind[*p] == kWord || kKind[*p] == kHigh)) ++p;
      tokens_.clear();
      Verdict const folded = fold(
          {reinterpret_cast<char const*>(start), static_cast<std::size_t>(p - start)}, tokens_);
      if (folded == Verdict::no_memory) throw std::bad_alloc();
      if (folded != Verdict::good) return folded;
      for (std::size_t from = 0, to; from < tokens_.size(); from = to + 1) {
        to = tokens_.find('\n', from);
        count(std::string_view(tokens_).substr(from, to - from));
      }
    } else if (p - start > 1) {
      count(words_.insert({scratch_.data(), static_cast<std::size_t>(p - start)}, h));
    }
  }
  return Verdict::good;
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

void WordCounter::clear() {
  if (words_.capacity() > std::size_t{1} << 20 || ids_.capacity() > std::size_t{1} << 22 ||
      scratch_.capacity() > std::size_t{1} << 22) {
    *this = WordCounter();
    return;
  }
  words_.forget_from(0);
  last_.clear();
  indptr_.assign(1, 0);
  ids_.clear();
  counts_.clear();
}

}  // namespace sgmc::text
