// SPDX-License-Identifier: BSD-3-Clause
// The back's end of the host link: it serves one front at a time. What it is asked for, it asks BackEvents
// (host/back/link_server.h): to take a record, to look a key up, what was kept of earlier fronts.
//
//   init() → no front ──hello of a new one──► wanted() ──admit()──► a front ──its lease has ended, released──► no front
//
// A front is admitted under a new epoch and a new incarnation, when the lease of the one before has ended (COMMIT 19,
// 21). From then on frames of other epochs are refused and counted; who sends them is told so.
//
// Records are taken in the order of their positions, each once. DURABLE goes at most once a poll(), for all of them.
#pragma once

#include "offload/link/channel.h"
#include "offload/link/front_end.h"
#include "offload/link/record_reader.h"

namespace txnic::link {

struct BackEndConfig {
  uint16_t worker = 0;
  uint32_t shards = 1;  // local shards of this worker
  uint64_t configuration_hash = 0;
  Name build{};
  uint32_t frame_bytes = limits::kLinkFrameBytesMin;
  uint32_t window = limits::kLinkWindowFrames;
  TimeNs lease_ns = limits::kLinkLeaseNanoseconds;
  // Beside the lease, before anybody else may serve: the two clocks run at different speeds.
  TimeNs lease_margin_ns = limits::kLinkLeaseNanoseconds / 8;
};

enum class Taken : uint8_t {
  kYes,
  kLater,      // the log is full: it comes again
  kMalformed,  // it makes no sense: the front is refused
};

// Called from on_frame(); must not call the machine back.
class BackEvents {
 public:
  // The next record. kYes: it is in the log, in the store and in what is kept.
  virtual Taken on_record(Bytes record) = 0;
  // Hints, for all of a frame before the first is taken, in two stages: where things are, then the things. `record` is
  // not checked but for its length.
  enum class Stage : uint8_t { kPlaces, kThings };
  virtual void prefetch_record(Bytes /*record*/, Stage /*stage*/) {}
  virtual void prefetch_question(const Question& /*question*/, Stage /*stage*/) {}
  // Looks a key up. The value is valid until the next call.
  virtual Answer on_question(const Question& question) = 0;
  // Lays the next records of what is kept, as a checkpoint has them, and answers how many bytes; 0: nothing follows.
  // `from_start`: begin anew. `room`: at least kLogRecordBytesMax.
  virtual uint32_t kept(MutableBytes room, bool from_start) = 0;
  // Hashes of the keys that the shard has from `cursor` on, at least one step further; answers how many, and where to
  // go on, or kFillEnd. `room` holds at least kFillStep.
  virtual uint32_t hashes(uint32_t local_shard, uint64_t cursor, std::span<uint64_t> room, uint64_t* next) = 0;
  static constexpr uint32_t kFillStep = 512;

 protected:
  ~BackEvents() = default;
};

struct BackEndCounters {
  uint64_t hellos = 0, refused = 0, admitted = 0, released = 0;
  uint64_t records = 0, record_bytes = 0;
  uint64_t repeated = 0;                     // pieces of records that had been taken already
  uint64_t gaps = 0;                         // pieces behind one that was lost
  uint64_t put_off = 0;                      // records that the log had no room for
  uint64_t questions = 0, answers_lost = 0;  // no room or credit for the answer: the question comes again
  uint64_t leases = 0;
};

class BackEnd : public Channel {
 public:
  static size_t memory_bytes();
  // `memory`: memory_bytes(), 64-aligned. It, `port` and `events` outlive this.
  void init(const BackEndConfig& config, MutableBytes memory, FramePort* port, BackEvents* events);

  void on_frame(Bytes frame, TimeNs now);
  // Once a round of the loop, after the frames. `durable`: of the records taken, in bytes of this epoch. Answers how
  // many frames went.
  uint32_t poll(Lsn durable, bool store_is_full);

  // Whether hellos are taken up at all; else they are told to come again. False at first.
  void set_open(bool open) { is_open_ = open, wanted_ = open ? wanted_ : 0; }
  // A front is waiting to be admitted, and nobody serves.
  bool wants_front() const { return wanted_ != 0; }
  // Admits it. `epoch`: never used before, not 0. `incarnation`: new, and durable (COMMIT 14).
  void admit(uint64_t epoch, uint32_t incarnation, TimeNs now);
  bool has_front() const { return instance_ != 0; }
  // It may answer reads from its cache until then, as far as we know: until then nobody else may serve its shards.
  TimeNs front_until() const { return front_until_ns_; }
  bool front_is_dead(TimeNs now) const { return has_front() && now >= front_until_ns_; }
  // The front serves no more: its frames are refused from now on. Only when it is dead, or after it has released.
  void expel();

  // Bytes of records taken in this epoch.
  Lsn taken() const { return taken_; }
  const BackEndCounters& back_counters() const { return back_counters_; }

 private:
  // Answers to one question for what is kept.
  static constexpr uint32_t kKeptBytes = 4 * limits::kLogRecordBytesMax;

  void on_entry(const Entry& entry, TimeNs now);
  void prefetch(Bytes frame, const FrameHeader& header);
  bool read_question(const Entry& entry, Question* question) const;
  void on_hello(Bytes frame, const FrameHeader& header, TimeNs now);
  void on_append(const Entry& entry);
  void on_fetch(const Entry& entry);
  void on_mirror_ask(const Entry& entry);
  void on_fill_ask(const Entry& entry);
  void on_release(const Entry& entry);
  void welcome();
  void refuse(Refusal refusal, uint64_t instance, uint64_t epoch, TimeNs wait_ns);
  // A fault of the front: it is told so, once a poll().
  void malformed();

  BackEndConfig config_{};
  BackEvents* events_ = nullptr;
  bool is_open_ = false;
  uint64_t instance_ = 0;  // of the front that is served; 0: none
  uint64_t wanted_ = 0;    // of the one that waits
  uint32_t peer_frame_bytes_ = 0, wanted_frame_bytes_ = 0;
  uint32_t incarnation_ = 0;
  TimeNs front_until_ns_ = 0;
  bool welcome_due_ = false;
  bool has_refused_ = false;  // since the last poll()

  RecordReader records_;
  Lsn taken_ = 0, told_taken_ = 0, told_durable_ = 0;
  bool told_full_ = false;
  bool durable_due_ = false;
  bool gap_ = false;
  bool put_off_ = false;  // what comes behind a record that was put off is no gap

  std::byte* kept_ = nullptr;  // [kept_start_, kept_start_ + kept_bytes_) of what is kept
  Lsn kept_start_ = 0;
  uint32_t kept_bytes_ = 0;
  bool kept_began_ = false, kept_last_ = false;
  uint64_t* hashes_ = nullptr;

  BackEndCounters back_counters_;
};

}  // namespace txnic::link
