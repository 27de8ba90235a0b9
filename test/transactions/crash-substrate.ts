// A local Asset Hub for the crash tests: keys that pay and mint with mortal extrinsics.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Metadata, TypeRegistry } from '@polkadot/types'
import { blake2AsHex, decodeAddress, encodeAddress, xxhashAsHex } from '@polkadot/util-crypto'
import { accountKey } from '../../devnet/substrate-account.ts'
import { LOGICAL, startMortalPostgres } from '../support/mortal-postgres.ts'
import { createDatabaseOn } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import type { Blocks, Ground, Intent, Mined, Signer } from './crash-ground.ts'

const network = 'Polkadot'
const SECRET = 'testnet-secret'
const SS58_PREFIX = 0
const SIGNERS = 4
const UNIT = 10n ** 10n
const FUNDS = 1_000_000n * UNIT
const ERA_BLOCKS = 16
/** An era often ends while a killed process is away. */
const BLOCK_TIME_MS = 250
/** The interval of blocks, if they come by the clock. */
const FINALITY_LAG_BLOCKS = 2
const POLL_MS = 50

const bytesOf = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex')

const amountAt = (bytes: Buffer, at: number): bigint =>
  bytes.readBigUInt64LE(at) | (bytes.readBigUInt64LE(at + 8) << 64n)

/** The layout of System.Account: nonce at byte 0, free at 16, reserved at 32; little-endian. */
const readAccount = async (chain: TestSubstrateChain, address: string, blockHash?: string) => {
  const key = accountKey(decodeAddress(address))
  const stored = await chain.rpc('state_getStorage', blockHash === undefined ? [key] : [key, blockHash])
  const bytes = typeof stored === 'string' ? bytesOf(stored) : Buffer.alloc(48)
  const [free, reserved] = [amountAt(bytes, 16), amountAt(bytes, 32)]
  return { nonce: bytes.readUInt32LE(0), free, total: free + reserved }
}

const ITEMS_OF_ACCOUNTS = `${xxhashAsHex('Uniques', 128)}${xxhashAsHex('Account', 128).slice(2)}`

/** Uniques.Account has a key for each item of an account, which begins with blake2_128_concat of its public key. */
const countItems = async (chain: TestSubstrateChain, address: string): Promise<bigint> => {
  const key = decodeAddress(address)
  const prefix = `${ITEMS_OF_ACCOUNTS}${blake2AsHex(key, 128).slice(2)}${Buffer.from(key).toString('hex')}`
  return BigInt(((await chain.rpc('state_getKeysPaged', [prefix, 10, prefix])) as readonly string[]).length)
}

/** A signer with a collection, whose creation is its first extrinsic. */
const startMinter = async (service: Service, chain: TestSubstrateChain): Promise<Signer> => {
  const signer = await startSigner(service, chain)
  const { json } = await service.post('/nfts/collections', {
    ...{ network, from: signer.address, developer_secret: SECRET },
    ...{ name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png' },
  })
  const made = await service.settled(json.transaction_id)
  if (made.json.status !== 'success') throw new Error(`no collection: ${made.text}`)
  return { ...signer, collection: made.json.contract_address }
}

const startSigner = async (service: Service, chain: TestSubstrateChain): Promise<Signer> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, FUNDS)
  // Balances are checked as of the final block.
  while ((await readAccount(chain, address, String(await chain.rpc('chain_getFinalizedHead')))).free === 0n) {
    await sleep(POLL_MS)
  }
  return { address, owner: address, collection: null }
}

const requestOf = ({ kind, signer, recipient, value }: Intent, contract_address: string | null) => {
  const common = { network, developer_secret: SECRET }
  if (kind === 'pay') {
    const unsigned_transaction = { to: recipient, value: String(value) }
    return {
      path: '/transactions/sign-and-send',
      body: { ...common, signer_wallet_address: signer, unsigned_transaction },
    }
  }
  const described =
    kind === 'mint'
      ? { uri: `https://example.com/${recipient}` }
      : { metadata: { name: recipient, description: '', image: 'https://example.com/d.png' } }
  return { path: '/nfts/mint', body: { ...common, from: signer, recipient, contract_address, ...described } }
}

/** The runtime's fee for an extrinsic in the block after this one: the last field of RuntimeDispatchInfo. */
const readFee = async (chain: TestSubstrateChain, raw: string, blockHash: string): Promise<bigint> => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytesOf(raw).length)
  const input = `${raw}${length.toString('hex')}`
  const info = bytesOf(String(await chain.rpc('state_call', ['TransactionPaymentApi_query_info', input, blockHash])))
  return amountAt(info, info.length - 16)
}

type Spent = { readonly signer: string; readonly planck: bigint }

/**
 * @returns a function that reads the new blocks: the sender of each extrinsic, and its cost according to the runtime.
 */
const createScan = async (chain: TestSubstrateChain, signers: readonly Signer[]) => {
  const registry = new TypeRegistry()
  registry.setMetadata(new Metadata(registry, (await chain.rpc('state_getMetadata')) as `0x${string}`))
  const mined: Mined[] = []
  const spent: Spent[] = []
  let scanned = 0
  const readBlock = async (blockHash: string) => {
    const { block } = (await chain.rpc('chain_getBlock', [blockHash])) as {
      readonly block: { readonly header: { readonly parentHash: string }; readonly extrinsics: readonly string[] }
    }
    for (const raw of block.extrinsics) {
      const extrinsic = registry.createType('Extrinsic', raw)
      if (!extrinsic.isSigned) continue
      const from = encodeAddress(extrinsic.signer.toU8a().slice(-32), SS58_PREFIX)
      if (!signers.some(({ owner }) => owner === from)) continue
      mined.push({ hash: blake2AsHex(raw), from, nonce: extrinsic.nonce.toNumber(), blockHash })
      const fee = await readFee(chain, raw, block.header.parentHash)
      const { method, args } = extrinsic.method
      const moved = method === 'transferKeepAlive' ? BigInt(String(args[1])) : 0n
      spent.push({ signer: from, planck: moved + fee })
    }
  }
  return {
    scan: async (): Promise<readonly Mined[]> => {
      const newest = (await chain.rpc('chain_getHeader')) as { readonly number: string }
      for (; scanned < Number(newest.number); scanned += 1) {
        await readBlock(String(await chain.rpc('chain_getBlockHash', [scanned + 1])))
      }
      return mined
    },
    spentBy: (signer: string): bigint =>
      spent.reduce((sum, each) => (each.signer === signer ? sum + each.planck : sum), 0n),
  }
}

/** Builds blocks at an interval. @returns a function that ends it */
const startClock = async (chain: TestSubstrateChain): Promise<() => void> => {
  await chain.setMode('manual')
  await chain.setFinalityLag(FINALITY_LAG_BLOCKS)
  let isBuilding = false
  const build = async () => {
    if (isBuilding) return
    isBuilding = true
    await chain.newBlock().catch(() => {})
    isBuilding = false
  }
  const clock = setInterval(() => void build(), BLOCK_TIME_MS)
  return () => clearInterval(clock)
}

/** Uses a worker that runs only for this. */
const startMinters = async (service: Service, chain: TestSubstrateChain): Promise<Signer[]> => {
  const worker = await startWorkerHere(service)
  const signers: Signer[] = []
  // One after the other, so that no two choose the same id for their collection.
  while (signers.length < SIGNERS) signers.push(await startMinter(service, chain))
  await worker.stop()
  return signers
}

/** A chain with signers who have everything that they need. */
export const startSubstrateGround = async ({
  blocks,
  mints,
}: {
  readonly blocks: Blocks
  readonly mints: boolean
}): Promise<Ground> => {
  const chain = await startSubstrateChain(network)
  const server = await startMortalPostgres(LOGICAL)
  const database = await createDatabaseOn(server.url)
  const service = await startService({ rpcUrls: { [network]: chain.rpcUrl }, database })
  const sql = server.connect()
  const signers = mints
    ? await startMinters(service, chain)
    : await Promise.all(Array.from({ length: SIGNERS }, () => startSigner(service, chain)))
  const { scan, spentBy } = await createScan(chain, signers)
  const stopClock = blocks === 'by clock' ? await startClock(chain) : () => {}
  const collectionOf = ({ signer }: Intent) => signers.find(({ address }) => address === signer)?.collection ?? null
  return {
    ...{ network, server, service, sql, signers, scan, hasCancel: false, sending: 'author_submitExtrinsic' },
    node: { variable: 'POLKADOT_RPC_URL', rpcUrl: chain.rpcUrl },
    // Or somewhat longer than an era by the clock.
    awayMs: [0, 0, 5_000],
    kinds: ['pay', 'pay', 'pay', ...(mints ? (['mint', 'mint with metadata'] as const) : [])],
    // An account begins with the existential deposit or more.
    leastValue: UNIT,
    newSigner: async () => {
      const signer = await startSigner(service, chain)
      signers.push(signer)
      return signer
    },
    newRecipient: () => encodeAddress(randomBytes(32), SS58_PREFIX),
    requestOf: (intent) => requestOf(intent, collectionOf(intent)),
    wordOf: (recipient) => Buffer.from(decodeAddress(recipient)).toString('hex'),
    // Only final blocks are followed. Without a clock no era would end.
    endAll: async () => {
      if (blocks === 'at once') await chain.newBlock(ERA_BLOCKS + 1)
    },
    countsOf: async (owner) => [
      (await readAccount(chain, owner)).nonce,
      Number(await chain.rpc('system_accountNextIndex', [owner])),
    ],
    effectOf: async ({ kind, recipient }) =>
      kind === 'pay' ? (await readAccount(chain, recipient)).free : countItems(chain, recipient),
    troublesOfBalances: async () => {
      const balances = await Promise.all(
        signers.map(async ({ owner }) => ({
          owner,
          lacks: FUNDS - spentBy(owner) - (await readAccount(chain, owner)).total,
        })),
      )
      return balances.flatMap(({ owner, lacks }) => (lacks === 0n ? [] : [`${owner} lacks ${lacks} planck`]))
    },
    close: async () => {
      stopClock()
      await sql.end()
      await service.close()
      await server.stop()
      await chain.stop()
    },
  }
}
