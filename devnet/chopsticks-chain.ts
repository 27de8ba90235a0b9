import {
  Api,
  Block,
  Blockchain,
  BuildBlockMode,
  calculateStateRoot,
  getSlotDuration,
  inherentProviders,
} from '@acala-network/chopsticks-core'
import { type SubstrateNetwork, substrateNetworkRow } from '../src/platform/networks.ts'
import { type Archive, type Genesis, openArchive } from './chopsticks-archive.ts'
import { buildBlock, withRuntime } from './chopsticks-block.ts'
import { createPool, type Pool } from './chopsticks-pool.ts'
import { createChanges } from './runtime-changes.ts'

/**
 * A real Asset Hub runtime (statemine 900) on its own chain: chopsticks has the blocks and the inherent extrinsics,
 * runtime.ts runs the runtime, and this file decides when blocks are built and with what. The genesis has the name,
 * coin and SS58 prefix of the network that the chain stands for.
 */
export type LocalChain = {
  readonly chain: Blockchain
  readonly pool: Pool
  readonly archive: Pick<Archive, 'answer'>
  /** Builds a block with the ready extrinsics and with messages from other chains. @returns its hash */
  readonly newBlock: (messages?: Messages) => Promise<Hex>
  /** Changes the newest block's state while no block is built on it, and stores it. */
  readonly changeHead: <Result>(change: () => Promise<Result>) => Promise<Result>
  readonly close: () => void
}

/** Messages from other chains: versioned XCM in SCALE. */
export type Messages = {
  /** From the relay chain. */
  readonly downward?: readonly Hex[]
  /** From other parachains, by their ids. */
  readonly horizontal?: Readonly<Record<string, readonly Hex[]>>
}

type Hex = Block['hash']

/** Older blocks are in the archive. */
const BLOCKS_IN_MEMORY = 64
/** State is read through one layer per block down to the archive, so after this many blocks the layers begin anew. */
const LAYERS_MAX = 4
/** twox128("Timestamp") twox128("Now"), and twox128("Aura") twox128("CurrentSlot"). */
const NOW_KEY = '0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb'
const CURRENT_SLOT_KEY = '0x57f8dc2f5ab09467896f47300f04243806155b3cd9a8c9e5e9a23fd5dc13a5ed'
/** twox128("AuraExt") with twox128("SlotInfo"), and with twox128("RelaySlotInfo"): the number of blocks in the slot. */
const SLOT_INFO_KEY = '0x3c311d57d4daf52904616cf69648081ea70806914c906d747e668a21f9021729'
const RELAY_SLOT_INFO_KEY = '0x3c311d57d4daf52904616cf69648081e4bf92a7a45e5c05730f95d3e609fa30b'
/** In the state of the relay chain: twox128("Babe") twox128("CurrentSlot"). */
const RELAY_SLOT_KEY = '0x1cb6f36e027abb2091cfb5110ab5087f06155b3cd9a8c9e5e9a23fd5dc13a5ed'
const RELAY_SLOT_MS = 6_000

const hexOfU64 = (value: number): Hex => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return `0x${bytes.toString('hex')}`
}

/** The fields of a raw chain specification that we use. */
type ChainSpec = {
  readonly name: string
  readonly properties?: Readonly<Record<string, unknown>> | null
  readonly genesis: { readonly raw: { readonly top: Readonly<Record<string, string>> } }
}

const genesisOf = async ({ name, properties, storage }: Omit<Genesis, 'stateRoot'>): Promise<Genesis> => ({
  name,
  properties,
  storage,
  stateRoot: await calculateStateRoot(Object.entries(storage) as [Hex, Hex][], 1),
})

/** @param path of a chain specification in gzipped JSON */
const readSpec = async (path: string): Promise<Genesis> => {
  const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(path).bytes()))
  const { name, properties, genesis }: ChainSpec = JSON.parse(text)
  return genesisOf({ name, properties: properties ?? {}, storage: genesis.raw.top })
}

const readGenesis = async (network: SubstrateNetwork): Promise<Genesis> => {
  const { chainSpec } = await import('@substrate/connect-known-chains/rococo_v2_2_asset_hub')
  const storage: Record<string, string> = JSON.parse(chainSpec).genesis.raw.top
  // Otherwise two chains with the same start would have the same genesis hash.
  storage[`0x${Buffer.from(':devnet').toString('hex')}`] = `0x${Buffer.from(network).toString('hex')}`
  const { coin, ss58Prefix } = substrateNetworkRow({ network, environment: 'testnet', devnet: true })
  return genesisOf({
    name: `${network} devnet`,
    properties: {
      ss58Format: ss58Prefix,
      tokenDecimals: coin.decimals,
      tokenSymbol: coin.symbol,
    },
    storage,
  })
}

const providerOf = (archive: Archive) => {
  const unsupported = (): never => {
    throw new Error('The archive has no subscriptions.')
  }
  return {
    hasSubscriptions: false,
    isClonable: false,
    isConnected: true,
    clone: unsupported,
    connect: async () => undefined,
    disconnect: async () => undefined,
    on: () => () => undefined,
    send: async (method: string, params: unknown[]) => archive.answer(method, params),
    subscribe: unsupported,
    unsubscribe: unsupported,
  } as unknown as ConstructorParameters<typeof Api>[0]
}

/**
 * The newest block, prepared as parent of a block with the current time. chopsticks advances a slot per block and would
 * soon be in the future, so we set the last slot to have just ended and clear the number of blocks in the slot.
 */
const parentAt = async (chain: Blockchain, { nowMs, isDeep }: { nowMs: number; isDeep: boolean }) => {
  const { head } = chain
  const storageDiff: Readonly<Record<Hex, Hex | null>> = {
    [NOW_KEY]: hexOfU64(nowMs - (await getSlotDuration(head))),
    [CURRENT_SLOT_KEY]: hexOfU64(0),
    [SLOT_INFO_KEY]: null,
    [RELAY_SLOT_INFO_KEY]: null,
  }
  const [header, extrinsics] = [await head.header, await head.extrinsics]
  // Without `storage` the layers begin at the archive.
  const storage = isDeep ? {} : { storage: head.storage }
  const parent = new Block(chain, head.number, head.hash, head, { header, extrinsics, storageDiff, ...storage })
  return { parent, storageDiff }
}

/** A message to a parachain over its channel begins with its format (XcmpMessageFormat, ConcatenatedVersionedXcm). */
const CONCATENATED_VERSIONED_XCM = '00'

/** In the form that chopsticks accepts; it adds the time to messages of parachains. */
const delivered = ({ downward = [], horizontal = {} }: Messages) => ({
  downwardMessages: downward.map((msg) => ({ msg, sentAt: 0 })),
  horizontalMessages: Object.fromEntries(
    Object.entries(horizontal).map(([sender, messages]) => [
      sender,
      messages.map((each) => ({ data: `0x${CONCATENATED_VERSIONED_XCM}${each.slice(2)}` as Hex, sentAt: 0 })),
    ]),
  ),
})

/** Opens a chain at its newest block or its genesis. @param input.statePath absent for a chain that is not kept */
export const openLocalChain = async (input: {
  readonly network: SubstrateNetwork
  readonly statePath?: string | undefined
  readonly specPath?: string | undefined
}): Promise<LocalChain> => {
  const { specPath } = input
  const archive = await openArchive({
    path: input.statePath ?? ':memory:',
    genesis: () => (specPath === undefined ? readGenesis(input.network) : readSpec(specPath)),
  })
  const chain = new Blockchain({
    api: new Api(providerOf(archive)),
    buildBlockMode: BuildBlockMode.Manual,
    inherentProviders,
    header: archive.newest(),
    registeredTypes: {},
    maxMemoryBlockCount: BLOCKS_IN_MEMORY,
  })
  withRuntime(chain.head, archive.stateAt(chain.head.hash))
  const pool = createPool(chain)

  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = turn.then(work, work)
    turn = result.catch(() => undefined)
    return result
  }

  const newBlock = (messages: Messages = {}) =>
    inTurn(async () => {
      const transactions = [...(await pool.ready())]
      const nowMs = Date.now()
      const { parent, storageDiff } = await parentAt(chain, { nowMs, isDeep: chain.head.number % LAYERS_MAX === 0 })
      const relaySlot = hexOfU64(Math.floor(nowMs / RELAY_SLOT_MS))
      // Newer runtimes check a block's slot against the relay chain's.
      const relayChainStateOverrides: [Hex, Hex][] = [[RELAY_SLOT_KEY, relaySlot]]
      const params = { transactions, upwardMessages: {}, ...delivered(messages), relayChainStateOverrides }
      const changes = createChanges(archive.stateAt(parent.hash))
      changes.setAll(Object.entries(storageDiff) as [Hex, Hex | null][])
      const block = await buildBlock(parent, { params, changes })
      await archive.save(block)
      await chain.setHead(withRuntime(block, archive.stateAt(block.hash)))
      await pool.taken(transactions)
      return block.hash
    })

  const changeHead = <Result>(change: () => Promise<Result>) =>
    inTurn(async () => {
      const result = await change()
      await archive.save(chain.head)
      return result
    })
  return { chain, pool, archive, newBlock, changeHead, close: archive.close }
}
