/// `shunt run kmers`: counts the k-mers of sequences of bases.
#include <fmt/core.h>

#include <fstream>
#include <map>
#include <unordered_map>

#include <shunt/base/random.hpp>

#include "app.hpp"
#include "bale/job.hpp"
#include "option.hpp"
#include "text/kmers.hpp"
#include "text/text_file.hpp"

using namespace shunt;

namespace {

/// How many k-mers were seen so often, by how often.
using histogram = std::map<std::uint64_t, std::uint64_t>;

/// Random bases, of which the second half repeats the first one, so that k-mers occur more than once.
std::string generated_sequence(std::uint64_t bases, std::uint64_t seed) {
  constexpr std::uint64_t bases_a_line = 80;
  const counter_random random(seed);
  std::string text = ">generated\n";
  text.reserve(text.size() + bases + bases / bases_a_line + 1);
  std::uint64_t bits = 0;
  for (std::uint64_t i = 0; i != bases; ++i) {
    const std::uint64_t at = i % (bases / 2 + 1);
    if (at % 32 == 0 || i == 0) bits = random.at(at / 32);
    text += "ACGT"[bits >> (2 * (at % 32)) & 3U];
    if (i % bases_a_line == bases_a_line - 1) text += '\n';
  }
  text += '\n';
  return text;
}

/// Collective.
histogram histogram_of(pgas::pe& me, const apps::kmer_counts& counts) {
  pgas::map<std::uint64_t, std::uint64_t> all(me);
  histogram mine;
  for (const auto& [kmer, count] : counts.local()) ++mine[count];
  pgas::superstep(me, [&] {
    for (const auto& [count, kmers] : mine) all[count] += kmers;
  });
  histogram whole;
  struct seen_so_often {
    std::uint64_t count;
    std::uint64_t kmers;
  };
  std::vector<seen_so_often> bars;
  for (const auto& [count, kmers] : all.local()) bars.push_back({count, kmers});
  for (const auto& some : me.gather(std::span<const seen_so_often>(bars))) {
    for (const auto& b : some) whole[b.count] = b.kmers;
  }
  return whole;
}

histogram serial_histogram(std::string_view text, apps::kmer_shape shape) {
  std::unordered_map<std::uint64_t, std::uint64_t> counts;
  apps::each_kmer(text, 0, text.size(), shape, [&](std::uint64_t kmer) { ++counts[kmer]; });
  histogram all;
  for (const auto& [kmer, count] : counts) ++all[count];
  return all;
}

void write_histogram(const std::string& output, const histogram& all) {
  std::ofstream file(output);
  for (const auto& [count, kmers] : all) file << count << ' ' << kmers << '\n';
  if (!file.flush()) throw error(error_number(1104), "--output " + output + ": it cannot be written");
}

}  // namespace

int kmers_main(int argc, char** argv) {
  apps::command_line options("Counts the k-mers of sequences of bases.", "shunt run kmers");
  apps::job job(options, "kmers", false, apps::forms::none);
  std::string file, output;
  std::uint64_t bases = 1'000'000;
  apps::kmer_shape shape{31, false};
  bool check = false;
  const auto* const given = apps::text_option(options, "--text", file, "sequences, in FASTA (generated ones)");
  const auto* const length =
      apps::count_option(options, "--bases", bases, "bases of the generated sequence", 1, std::uint64_t{1} << 40U);
  apps::count_option(options, "--k", shape.k, "bases of a k-mer", 1, 32)->capture_default_str();
  options.add_flag("--canonical", shape.canonical, "a k-mer and its reverse complement are one");
  apps::text_option(
      options, "--output", output,
      "where the histogram goes: a line \"COUNT NUMBER\" for each count, NUMBER k-mers were seen so often");
  options.add_flag("--check", check, "count them once more, serially, and compare");
  options.final_callback([&] {
    apps::expect_writable(output);
    if (given->count() != 0) apps::refuse_with("--text", {length, job.seed_option()});
  });
  if (!apps::parse(options, argc, argv)) return 0;

  const auto wanted = job.wanted();
  apps::text_file read;
  std::string made;
  if (file.empty()) {
    apps::require_memory(fmt::format("--bases {}", bases),
                         26. * static_cast<double>(bases));  // with half of the k-mers different
    made = generated_sequence(bases, job.seed());
  } else {
    read = apps::text_file("--text", file);
    if (!read.text().starts_with('>')) {
      throw usage_error(error_number(1105),
                        "--text " + file + ": it is not FASTA, of which the first line begins with >");
    }
  }
  const std::string_view text = file.empty() ? std::string_view(made) : read.text();
  bool right = true;
  pgas::run(wanted, [&](pgas::pe& me) {
    if (!file.empty()) apps::expect_same(me, file, text.size());
    apps::kmer_counts counts(me);
    const std::size_t begin = apps::part_begin(text.size(), me.index(), me.count());
    const std::size_t end = apps::part_begin(text.size(), me.index() + 1, me.count());
    const apps::measurement timing(me);
    std::uint64_t found = 0;
    {
      apps::progress line("counting", end - begin, me.index() == 0);
      found = apps::count_kmers(me, text, begin, end, shape, counts, [&line](std::uint64_t done) { line(done); });
    }
    const auto [seconds, moved] = timing.end();
    const auto all = me.sum(found);
    const auto different = counts.size();
    const auto bars = histogram_of(me, counts);
    if (me.index() != 0) return;
    std::uint64_t counted = 0;
    for (const auto& [count, kmers] : bars) counted += count * kmers;
    const bool same = !check || serial_histogram(text, shape) == bars;
    right = counted == all && same;
    if (!output.empty()) write_histogram(output, bars);
    const auto most = bars.empty() ? 0 : bars.rbegin()->first;
    std::vector<apps::fact> facts{
        {"application", "kmers", "kmers"},
        {"pes", me.count(),
         fmt::format("{} on {} {}", me.count(), me.ranks(), me.ranks() == 1 ? "process" : "processes")},
        {"text", file.empty() ? "generated" : file,
         file.empty() ? fmt::format("generated, {} bases", apps::with_commas(bases)) : apps::one_line(file)},
        {"k", shape.k, fmt::format("{}{}", shape.k, shape.canonical ? ", canonical" : "")},
        {"kmers", all, apps::with_commas(all)},
        {"different", different, apps::with_commas(different)},
        {"most_frequent", most, apps::with_commas(most) + " times"},
        {"counted", counted == all, counted == all ? "all" : "NO: k-mers were lost or doubled"},
        {"checked", check && right,
         !check ? "no (--check compares with a serial count)"
         : same ? "a serial count found the same"
                : "NO: a serial count found others"},
        {"kmers_per_s", static_cast<double>(all) / seconds, apps::with_unit(static_cast<double>(all) / seconds) + "/s"},
    };
    for (auto& f : apps::traffic_facts(moved, seconds)) facts.push_back(f);
    job.report(facts);
  });
  return right ? 0 : 1;
}
