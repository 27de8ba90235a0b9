// A node that answers from one block's storage, and for the programs that a test makes up. Where its shapes come from:
// - chain_*, state_*, system_*: the Polkadot SDK's RPC (sc_rpc_api). `Metadata_metadata_at_version` answers an
//   Option<OpaqueMetadata> in SCALE (sp_api::Metadata), `TransactionPaymentApi_query_info` a RuntimeDispatchInfo.
// - gear_calculateHandleGas(source, dest, payload, value, allow_other_panics, at): GasInfo, its u64s as JSON numbers
//   (gear-tech/gear, vara/pallets/gear/rpc/src/lib.rs and protocol/core/src/rpc.rs).
// - gear_calculateReplyForHandle(origin, destination, payload, gas_limit, value, at): LegacyReplyInfo
//   { payload: "0x…", value: 0, code: { "Success": "Manual" } } (the same; vara/sdk/gsdk/tests/rpc.rs asserts this JSON);
//   the codes of errors are named in protocol/errors/src/simple.rs.
// - a refusal of the runtime: error 8000 "Runtime error", its data the runtime's words in quotes
//   (runtime_error_into_rpc_error, by `{:?}`); "Program terminated with a trap: …" is calculate_gas_info's (vara/pallets/gear/src/runtime_api.rs).

import type { Hex } from '../../../src/chains/chain.ts'
import { hexText } from '../../../src/chains/node/wire.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { toHex } from '../../../src/chains/substrate/scale.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
import { startFakeNode } from '../evm/fake-node.ts'

/** An entry of storage, its value as the registry takes it. */
export type Stored = {
  readonly pallet: string
  readonly entry: string
  readonly parts: readonly unknown[]
  readonly value: unknown
}

export type Asked = {
  readonly source: string
  readonly payload: Hex
  readonly value: unknown
  readonly gasLimit?: unknown
}
/** What a program does with a message. `trap`: it panics, and says so. */
export type Outcome = { readonly reply: Hex; readonly gas: number } | { readonly trap: string } | null

const HEAD: Hex = `0x${'11'.repeat(32)}`
/** FeeDetails do not matter here: a weight of two compact integers, the normal class, and a fee of u128. */
const FEE_PLANCK = 10_000_000_000n
const U128_BYTES = 16

const littleEndian = (number: bigint): string =>
  Buffer.from(number.toString(16).padStart(2 * U128_BYTES, '0'), 'hex')
    .reverse()
    .toString('hex')

const encoded = ({ registry, storage }: Runtime, { pallet, entry, value }: Stored): Hex => {
  const type = storage[pallet]?.[entry]?.meta.type
  if (type === undefined) throw new Error(`no storage ${pallet}.${entry}`)
  const name = registry.createLookupType(type.isMap ? type.asMap.value : type.asPlain) as 'u32'
  return hexText(`0x${Buffer.from(registry.createType(name, value).toU8a()).toString('hex')}`)
}

const metadataAtVersion = (runtime: Runtime): string => {
  const bytes = runtime.registry.createType('Bytes', toHex(runtime.bytes))
  return `0x01${Buffer.from(bytes.toU8a()).toString('hex')}`
}

const runtimeError = (words: string) => ({
  error: { code: 8000, message: 'Runtime error', data: JSON.stringify(words) },
})

/** @param input.program what the program at an address does; null: there is none */
export const startStateNode = (input: {
  readonly runtime: Runtime
  readonly stored?: readonly Stored[]
  readonly genesisHash: Hex
  readonly program?: (destination: string, asked: Asked) => Outcome
}) => {
  const { runtime, stored = [], program = () => null } = input
  const { specName, specVersion, transactionVersion } = runtime
  let storage = new Map<Hex, Hex>()
  const store = (entries: readonly Stored[]): void => {
    storage = new Map(
      entries.map((each) => [storageKey(runtime, each.pallet, each.entry, each.parts), encoded(runtime, each)]),
    )
  }
  store(stored)
  const gas = ([source, destination, payload, value]: readonly unknown[]) => {
    const outcome = program(String(destination), { source: String(source), payload: hexText(String(payload)), value })
    if (outcome === null) return runtimeError('Failed to get last message from the queue')
    if ('trap' in outcome) return runtimeError(`Program terminated with a trap: '${outcome.trap}'`)
    const { gas: least } = outcome
    return { result: { min_limit: least, reserved: 0, burned: least, may_be_returned: 0, waited: false } }
  }
  const reply = ([source, destination, payload, gasLimit, value]: readonly unknown[]) => {
    const asked = { source: String(source), payload: hexText(String(payload)), gasLimit, value }
    const outcome = program(String(destination), asked)
    if (outcome === null) return runtimeError("Queue is empty, but reply wasn't found")
    if ('trap' in outcome) {
      const said = `0x${Buffer.from(outcome.trap).toString('hex')}`
      return { result: { payload: said, value: 0, code: { Error: { Execution: 'UserspacePanic' } } } }
    }
    return { result: { payload: outcome.reply, value: 0, code: { Success: 'Manual' } } }
  }
  const node = startFakeNode({
    behaviour: ({ method, params }) => {
      switch (method) {
        case 'chain_getFinalizedHead':
          return { result: HEAD }
        case 'chain_getBlockHash':
          return { result: params[0] === 0 ? input.genesisHash : HEAD }
        case 'chain_getHeader':
          return { result: { number: '0x64', parentHash: HEAD } }
        case 'state_getRuntimeVersion':
          return { result: { specName, specVersion, transactionVersion } }
        case 'state_call':
          return {
            result:
              params[0] === 'Metadata_metadata_at_version'
                ? metadataAtVersion(runtime)
                : `0x000000${littleEndian(FEE_PLANCK)}`,
          }
        case 'state_getStorage':
          return { result: storage.get(hexText(String(params[0]))) ?? null }
        case 'system_accountNextIndex':
          return { result: 0 }
        case 'gear_calculateHandleGas':
          return gas(params)
        case 'gear_calculateReplyForHandle':
          return reply(params)
        default:
          return undefined
      }
    },
  })
  /** From now on the storage holds this. */
  return { ...node, store }
}
