// Chains of runtimes of today, which begin with the chain specifications in the folder that CHAIN_SPECS names.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BalanceDifference } from '../../../src/chains/blocks.ts'
import type { BlockMovements, Chain, Hex, Intent, Signed, SubstrateUnsigned } from '../../../src/chains/chain.ts'
import { createRpc, question } from '../../../src/chains/node/rpc.ts'
import { hash } from '../../../src/chains/node/wire.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import { blockQuestion } from '../../../src/chains/substrate/blocks.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { createSubstrateNode } from '../../../src/chains/substrate/node.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { type devAccount, startSubstrateChain } from '../../support/substrate.ts'
import { createMemory } from '../evm/memory.ts'

const FILES = {
  /**
   * SDK stable2603: XCM takes and gives coins by Balances.Withdraw and Balances.Deposit. It has DryRunApi and Utility.
   */
  bulletin: 'bulletin-polkadot-2002001.json.gz',
  /** Paseo's test Asset Hub: Nfts, Uniques, Assets, pools, Proxy, Multisig, Sudo, DryRunApi. */
  hub: 'passet-hub-1018002.json.gz',
  /** Kusama's Asset Hub: Nfts and Uniques, and no DryRunApi. */
  kusama: 'asset-hub-kusama-1000000.json.gz',
} as const

export type Spec = keyof typeof FILES

/** By which the metadata of their runtimes was hashed, where it was. */
const HASHED_SYMBOLS = { bulletin: 'DOT', hub: 'PAS', kusama: 'KSM' } as const satisfies Record<Spec, string>

/** null where there is none. */
export const specPath = (spec: Spec): string | null => {
  const folder = process.env.CHAIN_SPECS
  if (folder === undefined || folder === '') return null
  const path = join(folder, FILES[spec])
  return existsSync(path) ? path : null
}

/** Whether some are missing; then it is printed what is not run, and why. */
export const lacksSpecs = (what: string, ...specs: readonly Spec[]): boolean => {
  const missing = specs.filter((spec) => specPath(spec) === null)
  if (missing.length === 0) return false
  const files = missing.map((spec) => FILES[spec]).join(', ')
  console.log(`Not run: ${what}, as CHAIN_SPECS names no folder with ${files}.`)
  return true
}

type Account = Awaited<ReturnType<typeof devAccount>>

/**
 * What was told of all blocks from one on, held against the balances of some. @returns the differences of each block
 */
export const differencesOf = async (
  chain: Chain,
  input: {
    readonly fromBlock: bigint
    readonly of: readonly string[]
    /** Spoils what was told. */
    readonly change?: (movements: BlockMovements['movements']) => BlockMovements['movements']
  },
): Promise<readonly (readonly BalanceDifference[])[]> => {
  const { fromBlock, of, change = (movements) => movements } = input
  const blocks = await chain.movements({ fromBlock, toBlock: (await chain.head()).latest.number })
  const scope = { choose: async () => new Set(of), reliable: () => new Set<string>() }
  const found: (readonly BalanceDifference[])[] = []
  for (const block of blocks ?? []) {
    const check = await chain.checkBalances({ ...block, movements: change(block.movements) }, scope)
    if (check === null || check.checked < of.length) throw new Error('expected all of them to be checked')
    found.push(check.differences)
  }
  return found
}

type Started = Awaited<ReturnType<typeof startSubstrateChain>>

const speakWith = async (local: Started, hashed: { readonly hashedSymbol?: string } = {}) => {
  const genesisHash = await createRpc({ rpcUrl: local.wsUrl, network: 'Polkadot' }).ask(
    question('chain_getBlockHash', [0], hash),
  )
  const devnet = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
  const row = { ...devnet, genesisHash, ...hashed }
  const memory = createMemory()
  const node = createSubstrateNode({ row, rpcUrl: local.wsUrl, memory })
  const runtime: Runtime = await node.runtimes.at((await local.rpc('chain_getBlockHash')) as Hex)
  const metadataPins = new Map([[runtime.specVersion, runtime.bytesHash]])
  const chain: Chain = createSubstrateChain({ row, rpcUrl: local.wsUrl, memory, metadataPins })
  const own = ({ publicKey }: Pick<Account, 'publicKey'>): string => addressOf(row, publicKey)

  const call = (pallet: string, name: string, ...values: readonly unknown[]) => {
    const make = runtime.calls[pallet]?.[name]
    if (make === undefined) throw new Error(`no call ${pallet}.${name}`)
    return make(...values)
  }
  type Call = ReturnType<typeof call>
  const intentOf = (made: Call): Intent => ({ to: null, value: 0n, input: made.toHex() })

  /**
   * Signs and sends without judging whether it would do, all in one block. @returns where it is, and what became of
   * each
   */
  const sendAll = async (made: readonly Call[], by: Account) => {
    await local.setMode('manual')
    const { pendingCount } = await chain.transactionCounts(own(by))
    const [first] = made
    if (first === undefined) return []
    // Only the call and the nonce of the others differ.
    const alike = (await chain.fill(intentOf(first), own(by), { nonce: pendingCount })) as SubstrateUnsigned
    const signed: Signed[] = []
    for (const [index, each] of made.entries()) {
      const unsigned = { ...alike, input: each.toHex(), call: each.toHex(), nonce: pendingCount + index }
      const one = chain.assemble(unsigned, by.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
      const outcome = await chain.broadcast(one.raw)
      if (outcome.kind !== 'accepted') throw new Error(`the chain did not take it: ${JSON.stringify(outcome)}`)
      signed.push(one)
    }
    const blockHash = (await local.newBlock()) as Hex
    await local.setMode('instant')
    const { number } = (await chain.head()).latest
    const block = await node.rpc.ask(blockQuestion(blockHash))
    const statuses = await chain.statuses(signed.map(({ hash }) => ({ hash, blockHash })))
    return statuses.map((status, index) => {
      const { raw, hash } = signed[index] as Signed
      if (status.kind !== 'mined') throw new Error('expected it in its block')
      return { hash, number, index: block?.extrinsics.indexOf(raw), status }
    })
  }

  const send = async (made: Call, by: Account) => {
    const [sent] = await sendAll([made], by)
    if (sent === undefined) throw new Error('expected what was sent')
    return sent
  }

  return { local, chain, node, row, runtime, own, call, intentOf, send, sendAll }
}

/** Starts a chain. Accounts have nothing until they are funded. */
export const startSpec = async (spec: Spec) => {
  const path = specPath(spec)
  if (path === null) throw new Error(`expected the chain specification ${FILES[spec]}`)
  const local = await startSubstrateChain('Polkadot', { specPath: path })
  return speakWith(local, { hashedSymbol: HASHED_SYMBOLS[spec] })
}

/** The same with the runtime of the local Asset Hub, which needs no chain specification. */
export const startOwnRuntime = async () => speakWith(await startSubstrateChain('Polkadot'))

/** A chain that began with a chain specification. */
export type SpecChain = Awaited<ReturnType<typeof startSpec>>
