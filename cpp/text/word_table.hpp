// Words by number: an open hash table over one arena of bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace sgmc::text {

/// What a word is looked up by: its bytes, zeros behind, if it is short, else a hash of them.
struct Key {
  static constexpr std::size_t kShort = 8;
  std::uint64_t bits;
  std::size_t size;

  explicit Key(std::string_view word)
      : bits(word.size() <= kShort ? padded(word) : hash(word)), size(word.size()) {}

 private:
  /// Loads that overlap give the bytes they share twice, which `or` does not mind.
  static std::uint64_t padded(std::string_view word) {
    char const* const p = word.data();
    std::size_t const n = word.size();
    if (n >= 4) return load<std::uint32_t>(p) | load<std::uint32_t>(p + n - 4) << (8 * (n - 4));
    if (n >= 2) return load<std::uint16_t>(p) | load<std::uint16_t>(p + n - 2) << (8 * (n - 2));
    return n == 0 ? 0 : load<std::uint8_t>(p);
  }
  template <class Unsigned>
  static std::uint64_t load(char const* p) {
    Unsigned value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  static std::uint64_t hash(std::string_view word) {
    auto const mixed = [](std::uint64_t h, std::uint64_t chunk) {
      return (std::rotl(h, 23) ^ chunk) * 0x9fb21c651e98df25u;
    };
    std::uint64_t h = word.size();
    for (std::size_t at = 0; at + 8 < word.size(); at += 8)
      h = mixed(h, load<std::uint64_t>(word.data() + at));
    h = mixed(h, load<std::uint64_t>(word.data() + word.size() - 8));
    return h ^ (h >> 32);
  }
};

/// Distinct words, numbered from 0 in order of first sight. A word has no NUL in it.
class WordTable {
 public:
  WordTable() : table_(std::size_t{1} << kLeast) {}

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
  /// All words' bytes, one after the other; word i ends at ends()[i].
  [[nodiscard]] std::vector<char> const& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::int64_t> const& ends() const { return ends_; }
  [[nodiscard]] std::size_t capacity() const { return table_.size(); }

  /// The id of a word, -1 if it is not there.
  [[nodiscard]] std::int32_t find(std::string_view word, Key key) const {
    return table_[place(word, key)].id;
  }

  /// The id of a word, a new one if it is not there.
  std::int32_t insert(std::string_view word, Key key) {
    std::size_t at = place(word, key);
    if (table_[at].id >= 0) return table_[at].id;
    if (2 * (ends_.size() + 1) > table_.size()) {
      grow();
      at = place(word, key);
    }
    bytes_.insert(bytes_.end(), word.begin(), word.end());
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
    table_[at] = {key.bits, static_cast<std::uint32_t>(key.size), size() - 1};
    return size() - 1;
  }

  /// Forget the words from number n on. The newest is at the end of every chain of probes that it
  /// is part of, so places are emptied from the newest to the oldest and nothing else moves.
  void forget_from(std::int32_t n) {
    for (; size() > n; ends_.pop_back()) {
      std::size_t at = first(Key(word(size() - 1)));
      while (table_[at].id != size() - 1) at = next(at);
      table_[at] = Slot();
    }
    bytes_.resize(static_cast<std::size_t>(start(n)));
  }

  [[nodiscard]] std::string_view word(std::int32_t id) const {
    auto const from = static_cast<std::size_t>(start(id));
    return {bytes_.data() + from,
            static_cast<std::size_t>(ends_[static_cast<std::size_t>(id)]) - from};
  }

  /// Ask for the place of a word that is going to be looked up soon.
  void prefetch(Key key) const { __builtin_prefetch(&table_[first(key)]); }

 private:
  static constexpr int kLeast = 12;
  struct Slot {
    std::uint64_t bits = 0;
    std::uint32_t size = 0;
    std::int32_t id = -1;
  };

  [[nodiscard]] std::int64_t start(std::int32_t id) const {
    return id > 0 ? ends_[static_cast<std::size_t>(id) - 1] : 0;
  }

  [[nodiscard]] std::size_t first(Key key) const {
    return ((key.bits ^ (key.bits >> 29)) * 0x9e3779b97f4a7c15u) >> shift_;
  }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (table_.size() - 1); }

  /// The place of a word, or the empty place that it would take.
  [[nodiscard]] std::size_t place(std::string_view wanted, Key key) const {
    for (std::size_t at = first(key);; at = next(at)) {
      Slot const& slot = table_[at];
      if (slot.bits == key.bits && slot.size == key.size &&
          (key.size <= Key::kShort || word(slot.id) == wanted))
        return at;
      if (slot.id < 0) return at;
    }
  }

  void grow() {  // at most half full; the oldest first, which forget_from() relies on
    if (shift_ <= 33) throw std::length_error("more than 2^30 words");
    table_.assign(2 * table_.size(), Slot());
    --shift_;
    for (std::int32_t id = 0; id < size(); ++id) {
      Key const key(word(id));
      std::size_t at = first(key);
      while (table_[at].id >= 0) at = next(at);
      table_[at] = {key.bits, static_cast<std::uint32_t>(key.size), id};
    }
  }

  std::vector<Slot> table_;
  int shift_ = 64 - kLeast;
  std::vector<char> bytes_;
  std::vector<std::int64_t> ends_;
};

}  // namespace sgmc::text
