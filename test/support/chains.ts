import { pbkdf2Sync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Account,
  type Address,
  type Chain,
  createPublicClient,
  createTestClient,
  createWalletClient,
  defineChain,
  getAddress,
  type Hex,
  http,
  parseEther,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from 'viem'
import { type HDAccount, HDKey, hdKeyToAccount } from 'viem/accounts'
import type { Network } from '../../db/words.ts'
import { type AnvilOptions, startAnvil } from '../../devnet/anvil.ts'
import { callRpc } from '../../devnet/rpc.ts'
import { evmNetworkRow } from '../../src/platform/networks.ts'
import { type TestContractName, testContract } from './contracts.ts'
import { madeAhead } from './made-ahead.ts'

const POOL_DEADLINE_MS = 10_000
const MINED_BY_ITSELF_MS = 10_000
const RECEIPT_DEADLINE_MS = 60_000

/** A transaction sent by a test; the sender is by default the first funded account. */
type Sending = { readonly to: Address; readonly value?: bigint; readonly data?: Hex; readonly account?: Account }

/**
 * BIP-39: the seed of the phrase that test chains fund, whose keys are public knowledge. The platform's PBKDF2 takes a
 * millisecond.
 */
const fundedRoot = HDKey.fromMasterSeed(
  pbkdf2Sync('test test test test test test test test test test test junk', 'mnemonic', 2048, 64, 'sha512'),
)
const derived = new Map<number, HDAccount>()

/** The accounts that a test chain has funded, by index. Each is derived once. */
export const fundedAccount = (index: number): HDAccount => {
  const account = derived.get(index) ?? hdKeyToAccount(fundedRoot, { addressIndex: index })
  derived.set(index, account)
  return account
}

const clientsOf = (chain: Chain, rpcUrl: string) => {
  const transport = http(rpcUrl, { retryCount: 0 })
  const common = { chain, transport, pollingInterval: 20, cacheTime: 0 }
  return {
    publicClient: createPublicClient(common),
    walletClient: createWalletClient({ ...common, account: fundedAccount(0) }),
    testClient: createTestClient({ ...common, mode: 'anvil' }),
  }
}

const startEthereum = madeAhead(async () => {
  const { chainId, maxTransactionGas } = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
  return startAnvil({ chainId, maxTransactionGas })
})

/**
 * Starts a local chain with a network's testnet chain id and its bound for the gas of a transaction, or with another
 * chain id. It mines a block for each transaction at once, and no others. viem's test clients are part of it, for
 * everything that has no function here.
 */
export const startChain = async (network: Network, { chainId: chosenId, ...options }: Partial<AnvilOptions> = {}) => {
  const { chainId, maxTransactionGas } =
    chosenId === undefined
      ? evmNetworkRow({ network, environment: 'testnet', devnet: true })
      : { chainId: chosenId, maxTransactionGas: null }
  const isUsual = network === 'Ethereum' && chosenId === undefined && Object.keys(options).length === 0
  const anvil = await (isUsual ? startEthereum() : startAnvil({ maxTransactionGas, ...options, chainId }))
  const { rpcUrl } = anvil
  const chain = defineChain({
    id: chainId,
    name: network,
    nativeCurrency: { name: 'Coin', symbol: 'COIN', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
  const clients = clientsOf(chain, rpcUrl)
  const { publicClient, walletClient, testClient } = clients

  /** Plain JSON-RPC, without a library. */
  const rpc = (method: string, params: readonly unknown[] = []): Promise<unknown> => callRpc(rpcUrl, method, params)

  /**
   * Not by viem, which asks once for each new block: it misses one that comes while it asks, and the chain mines no
   * other. Seldom anvil leaves a transaction in its pool and mines nothing more: then this asks it to.
   */
  const receiptOf = async (hash: Hex): Promise<TransactionReceipt> => {
    const deadline = Date.now() + RECEIPT_DEADLINE_MS
    for (let mineAt = Date.now() + MINED_BY_ITSELF_MS; ; await sleep(5)) {
      try {
        return await publicClient.getTransactionReceipt({ hash })
      } catch (error) {
        if (!(error instanceof TransactionReceiptNotFoundError) || Date.now() > deadline) throw error
      }
      if (Date.now() < mineAt) continue
      mineAt = deadline
      await testClient.mine({ blocks: 1 })
    }
  }

  /** Sends a transaction from a funded account and waits until it is mined, whether it succeeded or reverted. */
  const send = async ({ account = fundedAccount(0), ...transaction }: Sending): Promise<TransactionReceipt> =>
    receiptOf(await walletClient.sendTransaction({ ...transaction, account }))

  /** Deploys a contract of `test/contracts` from a funded account. @returns its address and ABI */
  const deploy = async (name: TestContractName, args: readonly unknown[] = []) => {
    const { abi, bytecode } = await testContract(name)
    const { contractAddress } = await receiptOf(await walletClient.deployContract({ abi, bytecode, args }))
    if (!contractAddress) throw new Error(`${name} was not deployed.`)
    return { address: getAddress(contractAddress), abi }
  }

  /** Calls a function of a deployed contract in a transaction, and waits until it is mined. */
  const write = async (input: {
    readonly contract: Awaited<ReturnType<typeof deploy>>
    readonly functionName: string
    readonly args?: readonly unknown[]
    readonly value?: bigint
    readonly account?: Account
  }): Promise<TransactionReceipt> => {
    const { contract, account = fundedAccount(0), ...call } = input
    return receiptOf(await walletClient.writeContract({ ...contract, ...call, account }))
  }

  /** Sets the balance of an address, without a transaction. */
  const fund = (address: Address, value: bigint = parseEther('1000')): Promise<void> =>
    testClient.setBalance({ address, value })

  const mine = (blocks = 1): Promise<void> => testClient.mine({ blocks })

  /** Waits until the pool is empty. With a block for each transaction, the answer comes a moment before the block. */
  const poolMined = async (): Promise<void> => {
    const isEmpty = async () => Number(((await rpc('txpool_status')) as { readonly pending: Hex }).pending) === 0
    for (const deadline = Date.now() + POOL_DEADLINE_MS; !(await isEmpty()); await sleep(2)) {
      if (Date.now() > deadline) throw new Error('the chain did not mine what is in its pool')
    }
  }

  /** Switches between a block for each transaction and blocks by `mine` only. */
  const setAutomine = (on: boolean): Promise<void> => testClient.setAutomine(on)

  /** Replaces the newest blocks by empty ones: the chain drops their transactions, from its pool too. */
  const reorg = async ({ depth }: { readonly depth: number }): Promise<void> => {
    await rpc('anvil_reorg', [depth, []])
  }

  /** Saves the state of the chain. @returns a function that restores it, once */
  const snapshot = async (): Promise<() => Promise<void>> => {
    const id = await testClient.snapshot()
    return () => testClient.revert({ id })
  }

  const stop = anvil.stop
  return {
    ...{ network, chainId, chain, rpcUrl, pid: anvil.pid, ...clients },
    ...{ rpc, receiptOf, send, deploy, write, fund, mine, poolMined, setAutomine, reorg, snapshot, stop },
  }
}

/** A local chain for tests. */
export type TestChain = Awaited<ReturnType<typeof startChain>>
