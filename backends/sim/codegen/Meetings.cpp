//===- Meetings.cpp - where threads wait for each other -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "backends/sim/codegen/Intrinsics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace sinter::sim {

static Value *lowerBarrier(const IntrinsicCall &call) {
  IRBuilder<> &builder = call.builder;
  auto combine = StringSwitch<uint32_t>(call.name)
                     .Case("barrier0.popc", SINTER_SIM_COUNT)
                     .Case("barrier0.and", SINTER_SIM_ALL)
                     .Case("barrier0.or", SINTER_SIM_ANY)
                     .Default(0);
  if (combine)
    return call.table(
        offsetof(sinter_sim_functions, barrierReduce), builder.getInt32Ty(),
        {call.site(SINTER_SIM_BARRIER), call.i32(combine), call.operands[0]});
  if (!StringSwitch<bool>(call.name)
           .Cases("barrier0", "barrier.n", "barrier", "bar.sync",
                  "barrier.sync", "barrier.sync.cnt", true)
           .Default(false))
    return nullptr;
  size_t given = call.operands.size();
  call.table(offsetof(sinter_sim_functions, barrier), builder.getVoidTy(),
             {call.site(SINTER_SIM_BARRIER),
              given > 0 ? call.operands[0] : call.i32(0),
              given > 1 ? call.operands[1] : call.i32(0)});
  return nothing(call);
}

// A value, or {value, i1} if the intrinsic also returns whether the lane was in
// range. The table packs both into one integer, because C and LLVM IR return
// such a struct in different registers.
static Value *valueAndFlag(const IntrinsicCall &call, Value *packed) {
  IRBuilder<> &builder = call.builder;
  auto *pair = dyn_cast<StructType>(call.type);
  Type *type = pair ? pair->getElementType(0) : call.type;
  Value *value = builder.CreateTrunc(packed, builder.getInt32Ty());
  value = builder.CreateBitCast(value, type);
  if (!pair)
    return value;
  Value *flag =
      builder.CreateTrunc(builder.CreateLShr(packed, 32), builder.getInt1Ty());
  Value *result = builder.CreateInsertValue(PoisonValue::get(pair), value, 0);
  return builder.CreateInsertValue(result, flag, 1);
}

static Value *lowerShuffle(const IntrinsicCall &call) {
  StringRef name = call.name;
  IRBuilder<> &builder = call.builder;
  if (!name.consume_front("shfl.sync."))
    return nullptr;
  auto mode = StringSwitch<uint32_t>(name.split('.').first)
                  .Case("up", SINTER_SIM_SHUFFLE_UP)
                  .Case("down", SINTER_SIM_SHUFFLE_DOWN)
                  .Case("bfly", SINTER_SIM_SHUFFLE_BFLY)
                  .Case("idx", SINTER_SIM_SHUFFLE_IDX)
                  .Default(0);
  if (!mode)
    return nullptr;
  Value *value = builder.CreateBitCast(call.operands[1], builder.getInt32Ty());
  return valueAndFlag(
      call,
      call.table(offsetof(sinter_sim_functions, shuffle), builder.getInt64Ty(),
                 {call.site(SINTER_SIM_WARP), call.i32(mode), call.operands[0],
                  value, call.operands[2], call.operands[3]}));
}

static Value *lowerVote(const IntrinsicCall &call) {
  auto combine = StringSwitch<uint32_t>(call.name)
                     .Case("vote.all.sync", SINTER_SIM_ALL)
                     .Case("vote.any.sync", SINTER_SIM_ANY)
                     .Case("vote.uni.sync", SINTER_SIM_UNIFORM)
                     .Case("vote.ballot.sync", SINTER_SIM_BALLOT)
                     .Default(0);
  if (!combine)
    return nullptr;
  IRBuilder<> &builder = call.builder;
  Value *vote = builder.CreateZExt(call.operands[1], builder.getInt32Ty());
  Value *result = call.table(
      offsetof(sinter_sim_functions, vote), builder.getInt32Ty(),
      {call.site(SINTER_SIM_WARP), call.i32(combine), call.operands[0], vote});
  return builder.CreateTrunc(result, call.type);
}

static Value *lowerReduce(const IntrinsicCall &call) {
  auto combine = StringSwitch<uint32_t>(call.name)
                     .Case("redux.sync.add", SINTER_SIM_ADD)
                     .Case("redux.sync.min", SINTER_SIM_MIN)
                     .Case("redux.sync.max", SINTER_SIM_MAX)
                     .Case("redux.sync.umin", SINTER_SIM_UMIN)
                     .Case("redux.sync.umax", SINTER_SIM_UMAX)
                     .Case("redux.sync.and", SINTER_SIM_AND)
                     .Case("redux.sync.or", SINTER_SIM_OR)
                     .Case("redux.sync.xor", SINTER_SIM_XOR)
                     .Default(0);
  if (!combine)
    return nullptr;
  return call.table(offsetof(sinter_sim_functions, reduce),
                    call.builder.getInt32Ty(),
                    {call.site(SINTER_SIM_WARP), call.i32(combine),
                     call.operands[1], call.operands[0]});
}

static Value *lowerMatch(const IntrinsicCall &call) {
  bool isAll = call.name.starts_with("match.all.sync.");
  if (!isAll && !call.name.starts_with("match.any.sync."))
    return nullptr;
  IRBuilder<> &builder = call.builder;
  Value *value = builder.CreateZExt(call.operands[1], builder.getInt64Ty());
  return valueAndFlag(
      call,
      call.table(offsetof(sinter_sim_functions, match), builder.getInt64Ty(),
                 {call.site(SINTER_SIM_WARP),
                  call.i32(isAll ? SINTER_SIM_ALL : SINTER_SIM_ANY),
                  call.operands[0], value}));
}

Value *lowerMeeting(const IntrinsicCall &call) {
  IRBuilder<> &builder = call.builder;
  if (call.name == "griddepcontrol.wait") {
    ++call.code.numLaunchWaits;
    call.table(offsetof(sinter_sim_functions, launchWait), builder.getVoidTy(),
               {call.site(SINTER_SIM_BARRIER)});
    return nothing(call);
  }
  // Every launch may begin as early as it likes.
  if (call.name == "griddepcontrol.launch_dependents")
    return nothing(call);
  if (call.name == "bar.warp.sync") {
    call.table(offsetof(sinter_sim_functions, warpSync), builder.getVoidTy(),
               {call.site(SINTER_SIM_WARP), call.operands[0]});
    return nothing(call);
  }
  if (call.name == "activemask")
    return call.table(offsetof(sinter_sim_functions, activeMask),
                      builder.getInt32Ty(), {});
  for (auto *lower :
       {lowerBarrier, lowerShuffle, lowerVote, lowerReduce, lowerMatch})
    if (Value *value = lower(call))
      return value;
  return nullptr;
}

} // namespace sinter::sim
