// Text to word counts: the inner loop of reading. Knows nothing of Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "characters.hpp"
#include "phrases.hpp"
#include "word_table.hpp"

namespace sgmc::text {

enum class Verdict { good, has_nul, not_utf8, failed };

/// Who has the tables of Unicode. Both return false if they cannot, which ends the counting.
struct Unicode {
  void* self;
  /// Describe the 256 characters from 256 * number on.
  bool (*page)(void* self, std::uint32_t number, Page& page);
  /// Bring valid UTF-8 into normal form C.
  bool (*normalise)(void* self, std::string_view text, std::string& normal);
};

/// Counts the words of some documents over a dictionary of their own.
class WordCounter {
 public:
  /// Count documents in the order of their words from here on, until all is forgotten: phrases as
  /// words, if there are any, and keep the sequence of all words, if it is wanted.
  void in_order(Phrases const* phrases, bool keep) {
    phrases_ = phrases;
    keeps_ = keep;
    in_order_ = keep || phrases != nullptr;
  }

  /// Count a document, which must have a NUL behind its end; a bad one leaves no trace.
  Verdict add(std::string_view document, Unicode const& unicode);

  /// The same in two steps, for documents that the caller splits.
  void count(std::string_view word) { count(words_.insert(word, Key(word))); }
  void commit() { indptr_.push_back(static_cast<std::int64_t>(ids_.size())); }

  /// Forget everything; memory is kept unless there is a lot of it.
  void clear();

  [[nodiscard]] WordTable const& words() const { return words_; }
  [[nodiscard]] std::vector<std::int64_t> const& indptr() const { return indptr_; }
  [[nodiscard]] std::vector<std::int32_t> const& ids() const { return ids_; }
  [[nodiscard]] std::vector<std::int32_t> const& counts() const { return counts_; }
  /// The words of all documents in order, -1 between words that are no neighbours: between
  /// sentences.
  [[nodiscard]] std::vector<std::int32_t> const& order() const { return order_; }

 private:
  enum class Split { done, not_normal, not_utf8, failed };
  struct Token {
    char const* begin;
    char const* end;
  };

  template <bool Ordered>
  Verdict scan(std::string_view document, Unicode const& unicode);
  Verdict add_stretch(std::string_view stretch, Unicode const& unicode);
  Split split(std::string_view stretch, bool normal, Unicode const& unicode);
  void count(std::int32_t id);
  void token(std::string_view word);
  void no_neighbour() { sequence_.push_back(-1); }
  void count_in_order();
  void roll_back(std::int32_t known);

  WordTable words_;
  std::vector<std::int64_t> indptr_{0};
  std::vector<std::int32_t> ids_, counts_;
  std::vector<std::int64_t> last_;  // by word: the entry of its last count
  std::vector<char> folded_;        // of a word or stretch
  std::vector<Token> tokens_;       // of a stretch, in folded_
  std::string normal_;

  // words in their order: numbered among themselves, as most of them are counted later or never
  Phrases const* phrases_ = nullptr;
  bool in_order_ = false, keeps_ = false;
  WordTable seen_;
  std::vector<std::int32_t> part_, counted_;  // of seen words: number in phrases, number in words_
  std::vector<std::int32_t> sequence_, order_;
};

}  // namespace sgmc::text
