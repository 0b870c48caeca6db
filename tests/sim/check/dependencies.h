// SPDX-License-Identifier: BSD-3-Clause
// From observations to the graph of dependencies.
#pragma once

#include "tests/sim/check/graph.h"
#include "tests/sim/check/history.h"
#include "tests/sim/check/observations.h"

namespace txnic::check {

// Edges ww, wr, rw of every key whose order of versions is known, process order and real-time order. The number of
// edges is linear in micro-operations and operations. The graph points into the history.
Graph build_graph(const History& history, const Observations& observations);

}  // namespace txnic::check
