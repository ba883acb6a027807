/// The same acquisition with its counts on the PEs of a job, over threads or over MPI: a tally a channel, which lives
/// on PE `channel % PEs`.
///
///   rank r reads channels r, r + ranks ...        PE p has the tallies of p, p + PEs ...
///   channel ─ fiber ─┐
///   channel ─ fiber ─┼─ a message a reading ─> the tally of its channel
///   channel ─ fiber ─┘
///
/// Each process of the job has a generator of its own, which feeds the channels that the process reads. Its PEs share
/// them: a PE has a fiber for each of its channels, on its own worker.
///
/// Everything is bounded here, too: a fiber whose PE has as many messages under way as its budget allows waits in
/// send(), so nothing is read meanwhile, and the sender's write waits. The order of messages is not promised, and a
/// tally does not depend on it. The fiber that reads a channel checks the order of its frames.
#pragma once

#include <shunt/pgas/options.hpp>
#include <shunt/pgas/traffic.hpp>
#include <vector>

#include "daq/acquisition.hpp"
#include "daq/generator.hpp"
#include "daq/settings.hpp"

namespace shunt::daq {

/// What the job has found, where PE 0 is; other processes get one without channels.
struct counted {
  outcome found;            ///< as acquire() returns it, without what it says of memory; the total is the readers'
  std::vector<sent> known;  ///< what all generators say, by channel
  int pes = 0;
  int ranks = 0;
  pgas::traffic moved;  ///< the counting alone
};

/// By each process of the job. \param feed  of this process: it is unopened. Its settings are the same everywhere.
/// \throws what pgas::run() does.
[[nodiscard]] counted count_on_pes(const pgas::options& job, const settings& s, generator& feed);

}  // namespace shunt::daq
