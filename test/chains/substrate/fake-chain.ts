// A node of a chain that a test makes up: each block has a runtime, bare and signed extrinsics, and events that are
// encoded by a runtime's real metadata. What it says is what a node of the Polkadot SDK says.

import type { Hex } from '../../../src/chains/chain.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { toHex } from '../../../src/chains/substrate/scale.ts'
import { type Behaviour, startFakeNode } from '../evm/fake-node.ts'

/** twox128("System") and twox128("Events"). */
const EVENTS_KEY = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7'

/** An extrinsic's place, or null for what the runtime does by itself; the pallet, the event and its fields. */
export type FakeEvent = readonly [number | null, string, string, readonly unknown[]]
export type FakeBlock = {
  /** What the state says after it. */
  readonly runtime: Runtime
  /** What its events are written by. */
  readonly by: Runtime
  readonly extrinsics?: readonly Hex[]
  readonly events?: readonly FakeEvent[] | Hex
  /** Whether the node has pruned its state. */
  readonly forgotten?: boolean
  /** Whether of the block itself its header alone is kept. */
  readonly bodiless?: boolean
}

type Variant = {
  readonly name: unknown
  readonly index: { toNumber(): number }
  readonly fields: readonly { type: never }[]
}

export const eventBytes = ({ registry, metadata }: Runtime, [, palletName, name, values]: FakeEvent): Buffer => {
  const pallet = metadata.asLatest.pallets.find((each) => String(each.name) === palletName)
  if (pallet === undefined) throw new Error(`no pallet ${palletName}`)
  const variants = registry.lookup.getSiType(pallet.events.unwrap().type).def.asVariant
    .variants as unknown as readonly Variant[]
  const variant = variants.find((each) => String(each.name) === name)
  if (variant === undefined) throw new Error(`no event ${palletName}.${name}`)
  const fields = variant.fields.map(({ type }, index) =>
    registry.createType(registry.createLookupType(type) as 'u32', values[index]).toU8a(),
  )
  return Buffer.concat([Uint8Array.of(pallet.index.toNumber(), variant.index.toNumber()), ...fields])
}

const recordBytes = (runtime: Runtime, event: FakeEvent): Buffer => {
  const phase = Buffer.alloc(5)
  phase.writeUInt32LE(event[0] ?? 0, 1)
  // Phase: 0 of an extrinsic, 2 of the initialization. No topics.
  return Buffer.concat([event[0] === null ? Uint8Array.of(2) : phase, eventBytes(runtime, event), Uint8Array.of(0)])
}

/** What `System.Events` holds. */
export const storedEvents = (runtime: Runtime, events: readonly FakeEvent[]): Hex =>
  `0x${Buffer.concat([Uint8Array.of(events.length << 2), ...events.map((event) => recordBytes(runtime, event))]).toString('hex')}`

const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`
const headerOf = (number: number) => ({
  number: `0x${number.toString(16)}`,
  parentHash: hashOf(Math.max(0, number - 1)),
})

/** All blocks are final, also those that are added later; their hashes are their numbers. */
export const startFakeChain = (blocks: readonly FakeBlock[]) => {
  const last = () => blocks.length - 1
  const blockAt = (hash: unknown) => blocks[Number(hash)]
  const forgotten = (hash: unknown) => ({
    error: { code: 4003, message: `Client error: UnknownBlock: State already discarded for ${String(hash)}` },
  })
  const metadataOf = (runtime: Runtime | undefined) => runtime && toHex(runtime.bytes)
  const answer: Behaviour = ({ method, params: [first, second] }) => {
    switch (method) {
      case 'chain_getFinalizedHead':
        return { result: hashOf(last()) }
      case 'chain_getBlockHash':
        return { result: Number(first) > last() ? null : hashOf(Number(first)) }
      case 'chain_getHeader':
        return { result: headerOf(first === undefined ? last() : Number(first)) }
      case 'chain_getBlock': {
        if (blockAt(first)?.bodiless) return { result: null }
        const extrinsics = blockAt(first)?.extrinsics ?? []
        return { result: { block: { header: headerOf(Number(first)), extrinsics } } }
      }
      case 'state_getRuntimeVersion': {
        if (blockAt(first)?.forgotten) return forgotten(first)
        const { specName, specVersion, transactionVersion } = blockAt(first)?.runtime ?? {}
        return { result: { specName, specVersion, transactionVersion } }
      }
      case 'state_getMetadata':
        return { result: metadataOf(blockAt(first)?.runtime) }
      case 'state_getStorage': {
        const block = blockAt(second)
        if (block?.forgotten) return forgotten(second)
        if (first !== EVENTS_KEY) return { result: '0x0100000000000000' }
        const { events = [], by } = block ?? {}
        return { result: typeof events === 'string' || by === undefined ? events : storedEvents(by, events) }
      }
      default:
        return undefined
    }
  }
  const node = startFakeNode({ behaviour: answer })
  /** What is undefined by it is answered as before. */
  const behaveBefore = (first: Behaviour) => node.behave(async (request) => (await first(request)) ?? answer(request))
  return { ...node, behaveBefore, hashOf }
}
