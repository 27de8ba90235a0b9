import {
  Api,
  Block,
  Blockchain,
  BuildBlockMode,
  buildBlock,
  calculateStateRoot,
  inherentProviders,
} from '@acala-network/chopsticks-core'
import type { SubstrateNetwork } from '../../db/words.ts'
import { NATIVE_COINS, substrateNetworkRow } from '../chains/networks.ts'
import { type Archive, type Genesis, openArchive } from './chopsticks-archive.ts'
import { createPool, type Pool } from './chopsticks-pool.ts'

/**
 * A real Asset Hub runtime (statemine 900) on a chain of its own: chopsticks runs the runtime, here is when blocks are
 * built and of what. The chain begins at its genesis, under the name, coin and SS58 prefix of the network it stands for.
 */
export type LocalChain = {
  readonly chain: Blockchain
  readonly pool: Pool
  readonly archive: Pick<Archive, 'answer'>
  /** Builds a block of what is ready. @returns its hash */
  readonly newBlock: () => Promise<Hex>
  /** Does something to the newest block's state while no block is built on it, and keeps it. */
  readonly changeHead: <Result>(change: () => Promise<Result>) => Promise<Result>
  readonly close: () => void
}

type Hex = Block['hash']

/** Further blocks are in the archive. */
const BLOCKS_IN_MEMORY = 64
/** State is looked up through one layer a block, down to the archive: every so many blocks it begins there anew. */
const LAYERS_MAX = 4
/** twox128("Timestamp") twox128("Now"), and twox128("Aura") twox128("CurrentSlot"). */
const NOW_KEY = '0xf0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb'
const CURRENT_SLOT_KEY = '0x57f8dc2f5ab09467896f47300f04243806155b3cd9a8c9e5e9a23fd5dc13a5ed'
/** Asset Hub's aura slot. */
const SLOT_MS = 12_000

const hexOfU64 = (value: number): Hex => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return `0x${bytes.toString('hex')}`
}

const readGenesis = async (network: SubstrateNetwork): Promise<Genesis> => {
  const { chainSpec } = await import('@substrate/connect-known-chains/rococo_v2_2_asset_hub')
  const storage: Record<string, string> = JSON.parse(chainSpec).genesis.raw.top
  // Two chains that begin alike would have one genesis hash.
  storage[`0x${Buffer.from(':devnet').toString('hex')}`] = `0x${Buffer.from(network).toString('hex')}`
  const { symbol, decimals } = NATIVE_COINS[network]
  return {
    name: `${network} devnet`,
    properties: {
      ss58Format: substrateNetworkRow({ network, environment: 'testnet', devnet: true }).ss58Prefix,
      tokenDecimals: decimals,
      tokenSymbol: symbol,
    },
    storage,
    stateRoot: await calculateStateRoot(Object.entries(storage) as [Hex, Hex][], 1),
  }
}

const providerOf = (archive: Archive) => {
  const unsupported = (): never => {
    throw new Error('The archive has no subscriptions.')
  }
  return {
    ...{ hasSubscriptions: false, isClonable: false, isConnected: true, clone: unsupported },
    ...{ connect: async () => undefined, disconnect: async () => undefined, on: () => () => undefined },
    send: async (method: string, params: unknown[]) => archive.answer(method, params),
    ...{ subscribe: unsupported, unsubscribe: unsupported },
  } as unknown as ConstructorParameters<typeof Api>[0]
}

/**
 * The newest block as the next one finds it: at the time of now. chopsticks lets a slot pass with every block, and would
 * soon be in the future; so its last slot is set to have ended now, and any slot may follow.
 */
const parentAtNow = async (chain: Blockchain, isDeep: boolean): Promise<Block> => {
  const { head } = chain
  const storageDiff = { [NOW_KEY]: hexOfU64(Date.now() - SLOT_MS), [CURRENT_SLOT_KEY]: hexOfU64(0) }
  const [header, extrinsics] = [await head.header, await head.extrinsics]
  // Without `storage` the layers begin at the archive.
  const storage = isDeep ? {} : { storage: head.storage }
  return new Block(chain, head.number, head.hash, head, { header, extrinsics, storageDiff, ...storage })
}

/** Opens a chain at its newest block, at first its genesis. @param input.statePath none for a chain that is not kept */
export const openLocalChain = async (input: {
  readonly network: SubstrateNetwork
  readonly statePath?: string | undefined
}): Promise<LocalChain> => {
  const archive = await openArchive({
    path: input.statePath ?? ':memory:',
    genesis: () => readGenesis(input.network),
  })
  const chain = new Blockchain({
    api: new Api(providerOf(archive)),
    buildBlockMode: BuildBlockMode.Manual,
    inherentProviders,
    header: archive.newest(),
    registeredTypes: {},
    maxMemoryBlockCount: BLOCKS_IN_MEMORY,
  })
  const pool = createPool(chain)

  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = turn.then(work, work)
    turn = result.catch(() => undefined)
    return result
  }

  const newBlock = () =>
    inTurn(async () => {
      const transactions = [...(await pool.ready())]
      const parent = await parentAtNow(chain, chain.head.number % LAYERS_MAX === 0)
      const params = { transactions, downwardMessages: [], upwardMessages: {}, horizontalMessages: {} }
      const [block] = await buildBlock(parent, inherentProviders, params)
      await archive.save(block)
      await chain.setHead(block)
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
