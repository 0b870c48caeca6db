// SPDX-License-Identifier: BSD-3-Clause
// Where frames for other nodes go first: the MAC address and the port of each node of the map, or of the gateway for
// nodes outside our subnet. Found by ARP: asked for with growing pauses, learnt from any ARP of its owner, asked for
// again when old. Bytes and times only: no port, no clock.
//
//   NextHops    what is known. One for all workers of a node: any of them may hear an answer. One word an entry, so
//               that reading it needs no lock.
//   Questions   what one worker asks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame.h"
#include "dataplane/options.h"
#include "txn/shard_map.h"

namespace txnic::dataplane {

inline constexpr TimeNs kAskFirstNs = 50'000'000;      // after the first question; then doubled
inline constexpr TimeNs kAskMaxNs = 800'000'000;
inline constexpr uint32_t kQuestionsMax = 6;           // in one round; then a pause of kAskMaxNs, and again if needed
inline constexpr TimeNs kNextHopFreshNs = 30'000'000'000;  // since its owner was heard; then it is asked for again
inline constexpr TimeNs kLookNs = 10'000'000;          // between two looks at the questions

// A MAC address and a port id.
struct Way {
  Mac mac{};
  uint16_t port = 0;
};

class NextHops {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `port_ids`: our ports, in the order in which static entries name them. A static entry that names none of them is
  // an error, told in *error.
  bool init(const ShardMap& map, const NextHopOptions& options, const std::vector<uint16_t>& port_ids,
            std::string* error);
  uint32_t count() const { return count_; }
  // The entry by which a node is reached; kNone for ourselves.
  uint32_t of_node(uint32_t node) const { return of_node_[node]; }
  uint32_t address_raw(uint32_t entry) const { return entries_[entry].address_raw; }
  bool is_static(uint32_t entry) const { return entries_[entry].is_static; }

  // ---- any worker -------------------------------------------------------------------------------
  // False: not known now.
  bool find(uint32_t entry, Way* way) const {
    const uint64_t packed = entries_[entry].way.load(std::memory_order_relaxed);
    if (packed == 0) [[unlikely]] return false;
    *way = unpack(packed);
    return true;
  }
  // The entry of an address, or kNone.
  uint32_t entry_of(uint32_t address_raw) const;
  // Its owner was heard by ARP on `port`. Of a static entry nothing changes.
  void learn(uint32_t entry, const Way& way, TimeNs now);
  // A round of questions was in vain: forget it, unless its owner was heard since `asked_ns`.
  void forget(uint32_t entry, TimeNs asked_ns);
  // Known, and heard lately enough; static ones always.
  bool is_fresh(uint32_t entry, TimeNs now) const;
  bool heard_since(uint32_t entry, TimeNs when) const;

  // ---- housekeeping -----------------------------------------------------------------------------
  uint32_t known() const;
  // What has changed since the last call, for people.
  void tell(std::vector<std::string>* notes);

 private:
  struct Entry {
    uint32_t address_raw = 0;
    bool is_static = false;
    bool told_missing = false;
    uint64_t told_way = 0;
    std::atomic<uint64_t> way{0};  // 0: not known
    std::atomic<TimeNs> heard_ns{0};
    std::atomic<bool> missing{false};  // a round was in vain
  };
  static uint64_t pack(const Way& way);
  static Way unpack(uint64_t packed);
  uint32_t add(uint32_t address_raw);

  std::array<uint32_t, limits::kNodesMax> of_node_{};
  std::array<Entry, limits::kNodesMax> entries_{};
  uint32_t count_ = 0;
};

class Questions {
 public:
  explicit Questions(NextHops* hops) : hops_(hops) {}

  // A frame goes, or would go, by this entry. One that is not known is asked for at the next look().
  void want(uint32_t entry, bool is_known) {
    asked_[entry].wanted = true;
    if (!is_known) [[unlikely]] is_urgent_ = true;
  }
  void want_all();
  bool is_due(TimeNs now) const { return is_urgent_ || now >= next_look_ns_; }
  // Fills in the entries that must be asked for now and answers how many; *unanswered counts rounds that ended in vain.
  uint32_t look(TimeNs now, std::array<uint32_t, limits::kNodesMax>* ask, uint32_t* unanswered);

 private:
  struct Question {
    bool wanted = false;
    uint32_t asked = 0;      // in this round; 0: none is under way
    TimeNs began_ns = 0;
    TimeNs next_ns = 0;      // not before
    TimeNs pause_ns = 0;
  };
  // True: ask now.
  bool look_at(uint32_t entry, TimeNs now, uint32_t* unanswered);

  NextHops* const hops_;
  bool is_urgent_ = false;
  TimeNs next_look_ns_ = 0;
  std::array<Question, limits::kNodesMax> asked_{};
};

}  // namespace txnic::dataplane
