// Phrases, which are several consecutive words counted as one, and counts of neighbouring words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "word_table.hpp"

namespace sgmc::text {

/// A tree of phrases' words. Node 0 is the root; several threads may read it.
class Phrases {
 public:
  /// Add a phrase, given as words separated by single blanks; as a word, it has _ in place of
  /// blanks.
  void add(std::string_view phrase) {
    std::int32_t node = 0;
    for (std::size_t at = 0; at <= phrase.size();) {
      std::size_t const end = std::min(phrase.find(' ', at), phrase.size());
      std::string_view const word = phrase.substr(at, end - at);
      auto const part = parts_.insert(word, Key(word));
      auto const [found, fresh] =
          next_.try_emplace(key(node, part), static_cast<std::int32_t>(names_.size()));
      if (fresh) names_.emplace_back();
      node = found->second;
      at = end + 1;
    }
    auto& name = names_[static_cast<std::size_t>(node)];
    name.assign(phrase);
    std::replace(name.begin(), name.end(), ' ', '_');
  }

  /// A word's number among the words of all phrases, or -1 if no phrase has it.
  [[nodiscard]] std::int32_t part(std::string_view word) const {
    return parts_.find(word, Key(word));
  }
  /// The node to which a word leads, or -1 if no phrase continues with it.
  [[nodiscard]] std::int32_t next(std::int32_t node, std::int32_t part) const {
    auto const found = next_.find(key(node, part));
    return found == next_.end() ? -1 : found->second;
  }
  /// The name of the phrase that ends at a node; empty if none does.
  [[nodiscard]] std::string const& name(std::int32_t node) const {
    return names_[static_cast<std::size_t>(node)];
  }

 private:
  static std::uint64_t key(std::int32_t node, std::int32_t part) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(part);
  }
  WordTable parts_;
  std::unordered_map<std::uint64_t, std::int32_t> next_;
  std::vector<std::string> names_{1};
};

/// Counts of neighbouring pairs of words in bounded memory: if there are too many pairs, the rarest
/// are dropped, and a bound of the resulting error of all counts is known.
class PairCounts {
 public:
  explicit PairCounts(std::size_t most) : most_(most), slots_(kLeast) {}

  /// Count the neighbours in a sequence; -1 has no neighbours. If `mixed`, count only pairs with
  /// one marked word, else only pairs without any.
  void add(std::int32_t const* order, std::size_t n, std::int32_t const* ids,
           std::uint8_t const* marked, bool mixed) {
    for (std::size_t i = 1; i < n; ++i) {
      std::int32_t const a = order[i - 1], b = order[i];
      if (a < 0 || b < 0 || ids[a] < 0 || ids[b] < 0) continue;
      if (mixed ? marked[a] == marked[b] : (marked[a] | marked[b]) != 0) continue;
      bump(static_cast<std::uint64_t>(ids[a]) << 32 | static_cast<std::uint32_t>(ids[b]), 1);
    }
  }

  [[nodiscard]] std::size_t size() const { return used_; }
  /// The maximum amount by which a count may be too small.
  [[nodiscard]] std::uint32_t lacking() const { return lacking_; }

  /// Calls fn(a, b, count) for all pairs that were counted at least this often.
  template <class F>
  void each(std::uint32_t least, F&& fn) const {
    for (Slot const& slot : slots_)
      if (slot.count > 0 && slot.count >= least)
        fn(static_cast<std::int32_t>(slot.pair >> 32), static_cast<std::int32_t>(slot.pair),
           slot.count);
  }
  void frequent(std::uint32_t least, std::vector<std::int32_t>& first,
                std::vector<std::int32_t>& second, std::vector<std::int64_t>& counts) const {
    each(least, [&](std::int32_t a, std::int32_t b, std::uint32_t n) {
      first.push_back(a);
      second.push_back(b);
      counts.push_back(n);
    });
  }

 private:
  static constexpr std::size_t kLeast = 16;
  struct Slot {
    std::uint64_t pair = 0;
    std::uint32_t count = 0;
  };

  void bump(std::uint64_t pair, std::uint32_t by) {
    std::size_t at = (pair * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1);
    while (slots_[at].count > 0 && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].count == 0) {
      slots_[at].pair = pair;
      ++used_;
    }
    std::uint32_t const before = slots_[at].count;
    slots_[at].count = before > ~by ? ~0u : before + by;
    if (used_ > most_ || 2 * used_ > slots_.size()) make_room();
  }
  void make_room() {
    if (used_ > most_) {
      std::uint32_t drop = 0;
      std::size_t stay = used_;
      while (2 * stay > most_) {
        ++drop;
        stay = 0;
        each(drop + 1, [&](std::int32_t, std::int32_t, std::uint32_t) { ++stay; });
      }
      lacking_ += drop;
      rebuild(slots_.size(), drop + 1);
    } else {
      rebuild(2 * slots_.size(), 1);
    }
  }
  void rebuild(std::size_t size, std::uint32_t least) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    used_ = 0;
    for (Slot const& slot : old)
      if (slot.count >= least) bump(slot.pair, slot.count);
  }

  std::size_t most_, used_ = 0;
  std::uint32_t lacking_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace sgmc::text
