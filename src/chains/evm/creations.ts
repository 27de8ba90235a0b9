// Simulates contract creations on a node whose eth_simulateV1 does not support them (anvil 1.7). The init code is
// placed at the contract's future address and called there: address, sender, value and (empty) call data are as in a
// creation. It returns the contract's code, which is then placed at the address for the calls that follow.

import type { Hex } from '../chain.ts'
import type { Answer, Rpc } from '../node/rpc.ts'
import { createdAddress } from './address.ts'
import type { Call } from './call.ts'
import { readMinedCounts } from './counts.ts'
import { CODE_LIMIT_BYTES, intrinsicGas } from './intrinsic.ts'
import { type Overrides, refused, type Segment, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** A creation that needs the code of an earlier one needs another run. After this many runs the last result is used. */
const RUN_LIMIT = 4
/** Gas to store one byte of code (Yellow Paper, appendix G). */
const CODE_BYTE_GAS = 200n
const TRANSACTION_GAS = 21_000n

type Creation = { readonly index: number; readonly address: string; code: Hex | null }

/** Splits the calls into blocks: each creation begins a new one. */
const plan = (calls: readonly Call[], creations: readonly Creation[], overrides: Overrides): readonly Segment[] => {
  const segments: { overrides: Overrides; calls: Call[] }[] = [{ overrides, calls: [] }]
  for (const [index, call] of calls.entries()) {
    const creation = creations.find((each) => each.index === index)
    if (creation === undefined) segments.at(-1)?.calls.push(call)
    else {
      const { address, code } = creation
      const sender = call.from === undefined ? {} : { from: call.from }
      const run = { ...sender, to: address, value: call.value, input: '0x' } as const
      // EIP-161: a new contract has nonce 1.
      segments.push({ overrides: { [address]: { code: call.input, nonce: 1 } }, calls: [run] })
      segments.push({ overrides: { [address]: { code: code ?? '0x' } }, calls: [] })
    }
  }
  return segments
}

/** Checks EIP-170, EIP-3541 and the gas to store the code, which the node does not check for a plain call. */
const judge = (call: Call, end: SimulatedCall): SimulatedCall => {
  if (end.failure !== null) return end
  const byteCount = (end.returnData.length - 2) / 2
  if (byteCount > CODE_LIMIT_BYTES) return refused('execution failed: max code size exceeded')
  if (end.returnData.startsWith('0xef')) return refused('execution failed: invalid code: must not begin with 0xef')
  const gasUsed = end.gasUsed - TRANSACTION_GAS + intrinsicGas(call) + BigInt(byteCount) * CODE_BYTE_GAS
  if (call.gasLimit !== undefined && call.gasLimit < gasUsed) return refused('execution failed: out of gas')
  return { ...end, gasUsed }
}

/** The creations among the calls with their addresses. Each call of a sender uses one nonce. */
const creationsIn = async (
  rpc: Rpc,
  input: { readonly from: string; readonly calls: readonly Call[] },
): Promise<readonly Creation[]> => {
  const senders = input.calls.map((call) => call.from ?? input.from)
  const next = new Map(await readMinedCounts(rpc, senders))
  return input.calls.flatMap(({ to }, index) => {
    const sender = senders[index] ?? input.from
    const nonce = next.get(sender) ?? 0
    next.set(sender, nonce + 1)
    return to === null ? [{ index, address: createdAddress(sender, nonce), code: null }] : []
  })
}

/** Simulates calls that include creations. A refusal of the whole request is returned. */
export const runWithCreations = async (
  rpc: Rpc,
  input: { readonly from: string; readonly calls: readonly Call[]; readonly overrides: Overrides },
): Promise<Answer<readonly SimulatedCall[]>> => {
  const { from, calls } = input
  const creations = await creationsIn(rpc, { from, calls })
  for (let run = 1; ; run += 1) {
    const answer = await rpc.try(simulateQuestion(from, plan(calls, creations, input.overrides)))
    if (!answer.ok) return answer
    const ends = calls.map((call, index) => {
      const end = answer.value[index] ?? refused('execution failed: not simulated')
      return call.to === null ? judge(call, end) : end
    })
    let learnt = false
    for (const creation of creations) {
      const end = ends[creation.index]
      const code = end === undefined || end.failure !== null ? '0x' : end.returnData
      // No call follows the last one, so its code does not matter.
      if (code !== (creation.code ?? '0x') && creation.index < calls.length - 1) learnt = true
      creation.code = code
    }
    if (!learnt || run === RUN_LIMIT) return { ok: true, value: ends }
  }
}
