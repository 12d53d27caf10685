// Words by number: an open hash table over one arena of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sgmc::text {

/// FNV-1a, one byte at a time, so that a word is hashed while it is folded.
inline constexpr std::uint32_t kHashStart = 2166136261u;
inline std::uint32_t hash_byte(std::uint32_t h, std::uint8_t byte) {
  return (h ^ byte) * 16777619u;
}
inline std::uint32_t hash_word(std::string_view word) {
  std::uint32_t h = kHashStart;
  for (char const c : word) h = hash_byte(h, static_cast<std::uint8_t>(c));
  return h;
}

/// Distinct words, numbered from 0 in order of first sight.
class WordTable {
 public:
  WordTable() : table_(std::size_t{1} << 13, Slot{0, -1}) {}

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
  /// All words' bytes, one after the other; word i ends at ends()[i].
  [[nodiscard]] std::vector<char> const& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::int64_t> const& ends() const { return ends_; }
  [[nodiscard]] std::size_t capacity() const { return table_.size(); }

  /// The id of a word, -1 if it is not there. `h` is its hash_word.
  [[nodiscard]] std::int32_t find(std::string_view word, std::uint32_t h) const {
    return table_[place(word, mixed(h))].id;
  }

  /// The id of a word, a new one if it is not there.
  std::int32_t insert(std::string_view word, std::uint32_t h) {
    h = mixed(h);
    std::size_t at = place(word, h);
    if (table_[at].id >= 0) return table_[at].id;
    if (2 * (ends_.size() + 1) > table_.size()) {
      grow();
      at = place(word, h);
    }
    bytes_.insert(bytes_.end(), word.begin(), word.end());
    hashes_.push_back(h);
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
    table_[at] = {h, size() - 1};
    return size() - 1;
  }

  /// Forget the words from number n on. The newest is the end of every chain of probes it is part
  /// of, so places are emptied from the newest to the oldest and nothing else moves.
  void forget_from(std::int32_t n) {
    while (size() > n) {
      std::size_t at = hashes_.back() & (table_.size() - 1);
      while (table_[at].id != size() - 1) at = (at + 1) & (table_.size() - 1);
      table_[at].id = -1;
      hashes_.pop_back();
      ends_.pop_back();
    }
    bytes_.resize(static_cast<std::size_t>(start(n)));
  }

  /// Ask for the place of a word that is going to be looked up soon.
  void prefetch(std::uint32_t h) const {
    __builtin_prefetch(&table_[mixed(h) & (table_.size() - 1)]);
  }

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t id;
  };

  [[nodiscard]] std::int64_t start(std::int32_t id) const {
    return id > 0 ? ends_[static_cast<std::size_t>(id) - 1] : 0;
  }

  static std::uint32_t mixed(std::uint32_t h) {  // FNV's low bits alone are weak
    h ^= h >> 15;
    h *= 0x85ebca6bu;
    return h ^ (h >> 13);
  }

  /// Where a word is, or the empty place where it belongs.
  [[nodiscard]] std::size_t place(std::string_view word, std::uint32_t h) const {
    std::size_t const mask = table_.size() - 1;
    for (std::size_t at = h & mask;; at = (at + 1) & mask) {
      Slot const slot = table_[at];
      if (slot.id < 0) return at;
      if (slot.hash != h) continue;
      auto const from = static_cast<std::size_t>(start(slot.id));
      auto const to = static_cast<std::size_t>(ends_[static_cast<std::size_t>(slot.id)]);
      if (to - from == word.size() && std::memcmp(&bytes_[from], word.data(), word.size()) == 0)
        return at;
    }
  }

  void grow() {  // at most half full; the oldest first, which forget_from() relies on
    if (table_.size() >= std::size_t{1} << 31) throw std::length_error("more than 2^30 words");
    std::vector<Slot> bigger(2 * table_.size(), Slot{0, -1});
    std::size_t const mask = bigger.size() - 1;
    for (std::int32_t id = 0; id < size(); ++id) {
      std::uint32_t const h = hashes_[static_cast<std::size_t>(id)];
      std::size_t at = h & mask;
      while (bigger[at].id >= 0) at = (at + 1) & mask;
      bigger[at] = {h, id};
    }
    table_.swap(bigger);
  }

  std::vector<Slot> table_;
  std::vector<char> bytes_;
  std::vector<std::int64_t> ends_;
  std::vector<std::uint32_t> hashes_;  // mixed; by id
};

}  // namespace sgmc::text
