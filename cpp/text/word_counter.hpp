// Text to word counts: the inner loop of reading. Knows nothing of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "word_table.hpp"

namespace sgmc::text {

enum class Verdict { good, has_nul, not_utf8, no_memory };

/// Folds what this file cannot: appends the tokens of a stretch of text, each followed by '\n'.
/// Returns good, not_utf8 or no_memory.
using Fold = Verdict (*)(std::string_view stretch, std::string& tokens);

/// Counts the words of some documents over a dictionary of their own.
class WordCounter {
 public:
  /// Count a document; a bad one leaves no trace. Throws std::bad_alloc.
  Verdict add(std::string_view document, Fold fold);

  /// The same in two steps, for documents that somebody else takes apart.
  void count(std::string_view word) { count(words_.insert(word, hash_word(word))); }
  void commit() { indptr_.push_back(static_cast<std::int64_t>(ids_.size())); }

  /// Forget everything; memory is kept unless there is a lot of it.
  void clear();

  [[nodiscard]] WordTable const& words() const { return words_; }
  [[nodiscard]] std::vector<std::int64_t> const& indptr() const { return indptr_; }
  [[nodiscard]] std::vector<std::int32_t> const& ids() const { return ids_; }
  [[nodiscard]] std::vector<std::int32_t> const& counts() const { return counts_; }

 private:
  Verdict scan(std::string_view document, Fold fold);
  void count(std::int32_t id);

  WordTable words_;
  std::vector<std::int64_t> indptr_{0};
  std::vector<std::int32_t> ids_, counts_;
  std::vector<std::int64_t> last_;  // by word: the entry where it was last counted
  std::vector<char> scratch_;
  std::string tokens_;
};

}  // namespace sgmc::text
