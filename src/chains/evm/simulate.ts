// One request of eth_simulateV1 (execution-apis): calls of one sender, in order, on top of an existing block. Without
// validation the sender needs no balance for gas. traceTransfers adds a Transfer log from 0xeeee… for each coin
// movement.

import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, hash, isHex, list, listOf, nullable, quantity, rawAddress, record, toQuantity } from '../node/wire.ts'
import { type Call, transactionObject } from './call.ts'
import { NO_FUNDS_REASON, simulatedFailure } from './reverts.ts'

/** A log as the node sends it, in lower-case hex. */
export type RawLog = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }

/** The result of one simulated call. `failure` is null on success; a failed call has no logs. */
export type SimulatedCall = {
  readonly failure: string | null
  readonly returnData: Hex
  readonly gasUsed: bigint
  readonly logs: readonly RawLog[]
}

/** What the simulation assumes of accounts. `stateDiff`: single slots of the storage, 32 bytes each. */
export type Overrides = Readonly<Record<string, AccountOverride>>
type AccountOverride = {
  readonly balance?: bigint
  readonly code?: Hex
  readonly nonce?: number
  readonly stateDiff?: Readonly<Record<Hex, Hex>>
}

/** Calls that run one after the other, and what is assumed before the first one. */
export type Segment = { readonly overrides: Overrides; readonly calls: readonly Call[] }

export const parseLog = (value: unknown): RawLog => {
  const log = record(value)
  return { address: rawAddress(log.address), topics: listOf(hash)(log.topics), data: bytes(log.data) }
}

/** anvil includes the logs of a failed call; go-ethereum puts the bytes that a revert returned into the error. */
const parseCall = (value: unknown, call: Call, blockGasLimit: bigint): SimulatedCall => {
  const result = record(value)
  const returned = nullable(bytes)(result.returnData) ?? '0x'
  const gasUsed = quantity(result.gasUsed)
  if (quantity(result.status) === 1n) {
    return { failure: null, returnData: returned, gasUsed, logs: nullable(listOf(parseLog))(result.logs) ?? [] }
  }
  const { message, data } = nullable(record)(result.error) ?? {}
  const returnData = returned === '0x' && isHex(data) ? data : returned
  const failure = simulatedFailure({
    message: typeof message === 'string' ? message : '',
    data: returnData,
    keptGas: gasUsed < (call.gasLimit ?? blockGasLimit),
  })
  return { failure, returnData, gasUsed, logs: [] }
}

const parseBlocks = (value: unknown, segments: readonly Segment[]): readonly SimulatedCall[] => {
  const blocks = list(value)
  return segments.flatMap(({ calls }, at) => {
    const block = record(blocks[at])
    const results = list(block.calls)
    const gasLimit = nullable(quantity)(block.gasLimit) ?? 0n
    return calls.map((call, index) => parseCall(results[index], call, gasLimit))
  })
}

/** In the form that nodes accept. Pure. */
export const overridesObject = (overrides: Overrides): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(overrides).map(([address, { balance, code, nonce, stateDiff }]) => [
      address,
      {
        ...(balance === undefined ? {} : { balance: toQuantity(balance) }),
        ...(code === undefined ? {} : { code }),
        ...(nonce === undefined ? {} : { nonce: toQuantity(nonce) }),
        ...(stateDiff === undefined ? {} : { stateDiff }),
      },
    ]),
  )

export const simulateQuestion = (
  from: string,
  segments: readonly Segment[],
  // Not `pending`: its content differs between nodes, and some do not have it.
  block = 'latest',
): Question<readonly SimulatedCall[]> =>
  question(
    'eth_simulateV1',
    [
      {
        blockStateCalls: segments.map(({ overrides, calls }) => ({
          ...(Object.keys(overrides).length === 0 ? {} : { stateOverrides: overridesObject(overrides) }),
          calls: calls.map((call) => transactionObject(from, call)),
        })),
        traceTransfers: true,
        validation: false,
      },
      block,
    ],
    (result) => parseBlocks(result, segments),
  )

/** The result of a call that was not run. */
export const refused = (failure: string): SimulatedCall => ({ failure, returnData: '0x', gasUsed: 0n, logs: [] })

/** The result of a call whose value the sender cannot pay. */
export const notFunded = refused(NO_FUNDS_REASON)
