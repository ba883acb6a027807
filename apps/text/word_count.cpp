/// `shunt run word_count`: counts the words of a file.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include <shunt/base/random.hpp>

#include "app.hpp"
#include "bale/job.hpp"
#include "option.hpp"
#include "text/text_file.hpp"
#include "text/words.hpp"

using namespace shunt;

namespace {

struct counted_word {
  std::string word;
  std::uint64_t count;
};

/// The more frequent first; of those that are as frequent the lesser word.
void order_words(std::vector<counted_word>& words) {
  std::ranges::sort(words, [](const counted_word& a, const counted_word& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
}

/// Collective. The most frequent words of all PEs.
std::vector<counted_word> most_frequent(pgas::pe& me, const pgas::counting_set<std::string>& counts,
                                        std::size_t words) {
  std::vector<counted_word> mine;
  for (const auto& [word, count] : counts.local()) mine.push_back({word, count});
  order_words(mine);
  if (mine.size() > words) mine.resize(words);
  std::string lines;  // a word has no space
  for (const auto& [word, count] : mine) lines += std::to_string(count) + ' ' + word + '\n';
  std::vector<counted_word> all;
  for (const auto& some : me.gather(lines)) {
    for (std::size_t at = 0; at != some.size();) {
      const std::size_t space = some.find(' ', at), end = some.find('\n', space);
      std::uint64_t count = 0;
      std::from_chars(some.data() + at, some.data() + space, count);
      all.push_back({some.substr(space + 1, end - space - 1), count});
      at = end + 1;
    }
  }
  order_words(all);
  if (all.size() > words) all.resize(words);
  return all;
}

bool serial_count_is(std::string_view text, std::uint64_t different, const std::vector<counted_word>& most) {
  std::unordered_map<std::string_view, std::uint64_t> counts;
  apps::each_word(text, 0, text.size(), [&](std::string_view word) { ++counts[word]; });
  return counts.size() == different &&
         std::ranges::all_of(most, [&](const counted_word& w) { return counts[w.word] == w.count; });
}

/// Words of which some are far more frequent than others.
std::string generated_text(std::uint64_t words, std::uint64_t seed) {
  const counter_random random(seed);
  std::string text;
  for (std::uint64_t i = 0; i != words; ++i) {
    const auto number = random.below(2 * i, 1 + random.below(2 * i + 1, 50'000));
    text += fmt::format("{}{}", number % 3 == 0 ? "word" : "w", number);
    text += i % 12 == 11 ? '\n' : ' ';
  }
  return text;
}

}  // namespace

int word_count_main(int argc, char** argv) {
  apps::command_line options("Counts the words of a file.", "shunt run word_count");
  apps::job job(options, "word_count", true, apps::forms::none);
  std::string file;
  std::uint64_t words = 1'000'000, top = 10;
  bool check = false;
  const auto* const given = apps::text_option(options, "--text", file, "a file; words are what white space separates");
  const auto* const length =
      apps::count_option(options, "--words", words, "words of the generated text", 1, std::uint64_t{1} << 40U);
  apps::count_option(options, "--top", top, "of the most frequent words so many are printed", 0, 1'000)
      ->capture_default_str();
  options.add_flag("--check", check, "count them once more, serially, and compare");
  options.final_callback([&] {
    if (given->count() != 0) apps::refuse_with("--text", {length, job.seed_option()});
  });
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::text_file read;
  std::string made;
  if (file.empty()) {
    apps::require_memory(fmt::format("--words {}", words), 10. * static_cast<double>(words));
    made = generated_text(words, job.seed());
  } else {
    read = apps::text_file("--text", file);
  }
  const std::string_view text = file.empty() ? std::string_view(made) : read.text();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    if (!file.empty()) apps::expect_same(me, file, text.size());
    pgas::counting_set<std::string> counts(me);
    const std::size_t begin = apps::part_begin(text.size(), me.index(), me.count());
    const std::size_t end = apps::part_begin(text.size(), me.index() + 1, me.count());
    std::uint64_t found = 0;
    const apps::measurement timing(me);
    {
      apps::progress line("counting", end - begin, me.index() == 0);
      apps::count_words(me, text, begin, end, counts, [&](std::size_t at) {
        ++found;
        line(at - begin);
      });
    }
    const auto [seconds, moved] = timing.end();
    const auto all = me.sum(found);
    const auto different = counts.size(), total = counts.total();
    const auto most = most_frequent(me, counts, top);
    if (me.index() != 0) return;
    const bool same = !check || serial_count_is(text, different, most);
    right = total == all && same;
    std::vector<apps::fact> facts{
        {"application", "word_count", "word_count"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"text", file.empty() ? "generated" : file,
         file.empty() ? fmt::format("generated, {} words", apps::with_commas(words)) : apps::one_line(file)},
        {"words", all, apps::with_commas(all)},
        {"different", different, apps::with_commas(different)},
        {"counted", total == all, total == all ? "all" : "NO: words were lost or doubled"},
        {"checked", check && right,
         !check ? "no (--check compares with a serial count)"
         : same ? "a serial count found the same"
                : "NO: a serial count found others"},
        {"words_per_s", static_cast<double>(all) / seconds, apps::with_unit(static_cast<double>(all) / seconds) + "/s"},
    };
    apps::json_value::array list;
    std::string lines;
    for (const auto& [word, count] : most) {
      list.emplace_back(apps::json_value::object{{"word", word}, {"count", count}});
      lines += fmt::format("{}{} {}", lines.empty() ? "" : ", ", apps::one_line(word), apps::with_commas(count));
    }
    facts.push_back({"most_frequent", std::move(list), lines.empty() ? "none" : lines});
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
