// Words and k-mers: where a text is cut, what interrupts, and the counts against serial ones.
#include <support/jobs.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <shunt/base/random.hpp>
#include <string>
#include <vector>

#include "text/kmers.hpp"
#include "text/text_file.hpp"
#include "text/words.hpp"

using namespace shunt;
using namespace shunt::testing;

namespace {

std::vector<std::string> words_of(std::string_view text, int parts) {
  std::vector<std::string> all;
  for (int p = 0; p != parts; ++p) {
    apps::each_word(text, apps::part_begin(text.size(), p, parts), apps::part_begin(text.size(), p + 1, parts),
                    [&](std::string_view word) { all.emplace_back(word); });
  }
  return all;
}

std::vector<std::uint64_t> kmers_of(std::string_view text, int parts, apps::kmer_shape shape) {
  std::vector<std::uint64_t> all;
  for (int p = 0; p != parts; ++p) {
    apps::each_kmer(text, apps::part_begin(text.size(), p, parts), apps::part_begin(text.size(), p + 1, parts), shape,
                    [&](std::uint64_t kmer) { all.push_back(kmer); });
  }
  return all;
}

/// By the definition: sequences joined over lines, each window of k bases.
std::vector<std::uint64_t> defined_kmers(const std::vector<std::string>& sequences, apps::kmer_shape shape) {
  std::vector<std::uint64_t> all;
  for (const auto& s : sequences) {
    for (std::size_t i = 0; i + shape.k <= s.size(); ++i) {
      std::uint64_t forward = 0, backward = 0;
      bool whole = true;
      for (unsigned j = 0; j != shape.k; ++j) {
        const auto at = std::string_view("ACGT").find(static_cast<char>(std::toupper(s[i + j])));
        whole = whole && at != std::string_view::npos;
        forward = forward * 4 + at;
        backward += (3 - at) << (2 * j);
      }
      if (whole) all.push_back(shape.canonical ? std::min(forward, backward) : forward);
    }
  }
  return all;
}

/// Sequences as a file, in lines of some bases.
std::string fasta(const std::vector<std::string>& sequences, std::size_t columns, const std::string& newline) {
  std::string text;
  for (const auto& s : sequences) {
    text += ">a sequence ACGT" + newline;
    for (std::size_t at = 0; at < s.size(); at += columns) text += s.substr(at, columns) + newline;
  }
  return text;
}

std::vector<std::string> some_sequences() {
  const counter_random random(3);
  std::vector<std::string> all;
  std::uint64_t next = 0;
  for (const std::size_t length : {0, 1, 4, 5, 90, 300}) {
    std::string s;
    for (std::size_t i = 0; i != length; ++i) s += "ACGTacgtACGTACGTACGTACGTACGTACGN"[random.below(next++, 32)];
    all.push_back(s);
  }
  return all;
}

}  // namespace

TEST_CASE("each_word: however a text is cut, each word comes once, and whole") {
  for (const std::string text : {"", " ", "one", "  one two\n\nthree\tfour ", "a bb ccc dddd eeeee ffffff ggggggg"}) {
    const auto whole = words_of(text, 1);
    for (int parts = 1; parts != 40; ++parts) CHECK(words_of(text, parts) == whole);
  }
  CHECK(words_of(" one two\n", 1) == std::vector<std::string>{"one", "two"});
}

TEST_CASE("each_kmer: however a text is cut and broken into lines, each k-mer comes once") {
  const auto sequences = some_sequences();
  for (const unsigned k : {1U, 2U, 5U, 31U, 32U}) {
    for (const bool canonical : {false, true}) {
      const apps::kmer_shape shape{k, canonical};
      auto wanted = defined_kmers(sequences, shape);
      std::ranges::sort(wanted);
      for (const std::size_t columns : {1, 3, 60, 1000}) {
        for (const std::string newline : {"\n", "\r\n"}) {
          const std::string text = fasta(sequences, columns, newline);
          for (const int parts : {1, 2, 3, 7, 50}) {
            auto found = kmers_of(text, parts, shape);
            std::ranges::sort(found);
            CHECK(found == wanted);
          }
        }
      }
    }
  }
}

TEST_CASE("count_words, count_kmers: the counts of a serial loop, on any number of PEs") {
  const counter_random random(8);
  std::string words;
  for (std::uint64_t i = 0; i != 2'000; ++i) {
    words += 'a' + static_cast<char>(random.below(i, 1 + i % 26));
    if (random.at(i + 9'999) % 3 == 0) words += ' ';
  }
  std::map<std::string, std::uint64_t> of_words;
  for (const auto& word : words_of(words, 1)) ++of_words[word];
  const std::string bases = fasta(some_sequences(), 70, "\n");
  const apps::kmer_shape shape{4, true};
  std::map<std::uint64_t, std::uint64_t> of_kmers;
  for (const auto kmer : kmers_of(bases, 1, shape)) ++of_kmers[kmer];
  for (const auto& job : all_jobs(small)) {
    pgas::run(job, [&](pgas::pe& me) {
      const auto part = [&](std::string_view text, int p) { return apps::part_begin(text.size(), p, me.count()); };
      pgas::counting_set<std::string> counts(me);
      apps::count_words(me, words, part(words, me.index()), part(words, me.index() + 1), counts, [](std::size_t) {});
      for (const auto& [word, count] : counts.local()) expect(of_words.at(word) == count, word);
      expect(counts.size() == of_words.size());
      apps::kmer_counts kmers(me);
      const auto found = apps::count_kmers(me, bases, part(bases, me.index()), part(bases, me.index() + 1), shape,
                                           kmers, [](std::uint64_t) {});
      for (const auto& [kmer, count] : kmers.local()) expect(of_kmers.at(kmer) == count);
      expect(kmers.size() == of_kmers.size());
      std::uint64_t all = 0;
      for (const auto& [kmer, count] : of_kmers) all += count;
      expect(me.sum(found) == all);
    });
  }
}
