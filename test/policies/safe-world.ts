// The setting for policy tests on contract wallets: a service without a worker, a chain with Safe's contracts, and
// attacks.

import { randomUUID } from 'node:crypto'
import { getMultiSendDeployment, getSignMessageLibDeployment } from '@safe-global/safe-deployments'
import postgres, { type Sql } from 'postgres'
import {
  type AbiFunction,
  type Address,
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  parseAbiItem,
  parseEther,
  parseTransaction,
  size,
  slice,
  toFunctionSelector,
  zeroAddress,
  zeroHash,
} from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { addAbi } from '../../src/assets/abis/added.ts'
import { execution, multiSendData } from '../../src/chains/evm/safe/execution.ts'
import { deploymentData, deriveContractWallet, SAFE_ADDRESSES } from '../../src/chains/evm/safe/settings.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

export const network = 'Ethereum'
export const PIN = '493817'
export const SECRET = 'testnet-secret'
export const RECIPIENT = fundedAccount(5).address
export const STRANGER = fundedAccount(6).address
const SENTINEL = '0x0000000000000000000000000000000000000001'
export const EXEC_TRANSACTION =
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)'
export const CREATE_PROXY =
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)'
export const MULTI_SEND = 'function multiSend(bytes transactions) payable'
export const ENABLE_MODULE = 'function enableModule(address module)'
export const CREATION: Hex = '0x600160005360016000f3'

type Rule = { readonly argument: string; readonly operator: string; readonly value: string }
export type Safe = {
  readonly id: string
  readonly address: Address
  readonly owner_id: string
  readonly owner: Address
}

export const itemOf = (declaration: string) => parseAbiItem(declaration) as AbiFunction
export const callOf = (declaration: string, ...args: readonly unknown[]): Hex => {
  const item = itemOf(declaration)
  return encodeFunctionData({ abi: [item], functionName: item.name, args })
}

/** Calls that would give a Safe away if it called itself with them. */
export const seizures = ({ owner }: Safe): readonly Hex[] => [
  callOf(ENABLE_MODULE, STRANGER),
  callOf('function addOwnerWithThreshold(address owner, uint256 threshold)', STRANGER, 1n),
  callOf('function swapOwner(address previous, address old, address replacement)', SENTINEL, owner, STRANGER),
  callOf('function setGuard(address guard)', SAFE_ADDRESSES.createCall),
  callOf('function setFallbackHandler(address handler)', STRANGER),
  callOf('function approveHash(bytes32 hash)', zeroHash),
  execution(deriveContractWallet(owner), [{ to: STRANGER, value: parseEther('1'), input: '0x' }]).input,
]

/** The declarations of all functions in `seizures` and `detours`. */
const DECLARATIONS = [
  EXEC_TRANSACTION,
  CREATE_PROXY,
  MULTI_SEND,
  ENABLE_MODULE,
  'function addOwnerWithThreshold(address owner, uint256 threshold)',
  'function swapOwner(address previous, address old, address replacement)',
  'function setGuard(address guard)',
  'function setFallbackHandler(address handler)',
  'function approveHash(bytes32 hash)',
  'function signMessage(bytes data)',
  'function performCreate(uint256 value, bytes code)',
  'function simulate(address target, bytes data)',
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address handler, address token, uint256 payment, address receiver)',
]

const codeOf = (deployment: typeof getMultiSendDeployment) =>
  deployment({ version: '1.4.1' })?.deployments.canonical?.address as Address

/** Calls of other contracts that might make the Safe call itself, delegate or approve. */
export const detours = (safe: Safe): readonly { readonly to: Address; readonly input: Hex }[] => {
  const { multiSendCallOnly, proxyFactory, createCall, singleton, fallbackHandler } = SAFE_ADDRESSES
  const [enable] = seizures(safe)
  if (enable === undefined) throw new Error('nothing to try')
  const within = [...seizures(safe), '0x'] as const
  const call = (data: Hex) => multiSendData([{ to: safe.address, value: 0n, data }])
  const setup = deploymentData({ owner: STRANGER, address: safe.address })
  const initializer = decodeFunctionData({ abi: [itemOf(CREATE_PROXY)], data: setup }).args?.[1] as Hex
  return [
    ...within.map((data) => ({ to: multiSendCallOnly, input: call(data) })),
    { to: codeOf(getMultiSendDeployment), input: call(enable) },
    { to: codeOf(getSignMessageLibDeployment), input: callOf('function signMessage(bytes data)', zeroHash) },
    { to: createCall, input: callOf('function performCreate(uint256 value, bytes code)', 0n, CREATION) },
    { to: proxyFactory, input: setup },
    { to: proxyFactory, input: deploymentData(safe) },
    { to: singleton, input: initializer },
    { to: singleton, input: enable },
    { to: fallbackHandler, input: callOf('function simulate(address target, bytes data)', safe.address, enable) },
    // In Safe 1.5's MultiSend the zero address means the wallet itself; in 1.4.1 it does not.
    { to: zeroAddress, input: enable },
  ]
}

/** The wallet's inner call, as anybody can extract it: the second call of the MultiSend. */
export const withinOf = (raw: Hex): Hex => {
  const { data = '0x' } = parseTransaction(raw)
  const packed = decodeFunctionData({ abi: [itemOf(MULTI_SEND)], data }).args?.[0] as Hex
  const second = 85 + Number(slice(packed, 53, 85))
  return slice(packed, second + 85, size(packed))
}
export const rule = (argument: string, operator: string, value: string): Rule => ({ argument, operator, value })
export const ANYTHING = [rule('value', 'ge', '0')]

export const told = ({ status, json }: Answer) => [status, json?.code ?? null]
export const DENIED = [403, 'policy_denied']
export const DONE = [200, null]

type Wallet = { readonly address: string }

/** With the developer's secret only. */
const verbsOf = (service: Service) => {
  const post = (path: string, wallet: Wallet, body: object) =>
    service.post(`/transactions/${path}`, {
      network,
      signer_wallet_address: wallet.address,
      developer_secret: SECRET,
      ...body,
    })
  const sign = (wallet: Wallet, call: object) => post('sign', wallet, { unsigned_transaction: call })
  const send = (wallet: Wallet, call: object) => post('sign-and-send', wallet, { unsigned_transaction: call })
  const batch = (wallet: Wallet, calls: readonly object[]) =>
    post('batch-sign-and-send', wallet, { unsigned_transactions: calls })
  const acts = [sign, send, (wallet: Wallet, call: object) => batch(wallet, [call])] as const

  const policy = async (wallet: Wallet, rules: readonly Rule[], rest: object = {}): Promise<string> => {
    const both = { developer_secret: SECRET, user_pin: PIN }
    const body = { network, wallet_address: wallet.address, argument_rules: rules, ...both, ...rest }
    const answer = await service.post('/policies', body)
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.json.uuid
  }
  /** Lets the developer call the functions of these calls, so that a refusal has another reason than the rules. */
  const allowCalls = async (wallet: Wallet, inputs: readonly Hex[]): Promise<void> => {
    for (const declaration of DECLARATIONS) {
      const selector = toFunctionSelector(itemOf(declaration))
      if (!inputs.some((input) => input.startsWith(selector))) continue
      await policy(wallet, [rule('decodedInput.function', 'eq', itemOf(declaration).name)])
    }
  }
  return { post, sign, send, batch, acts, policy, allowCalls }
}

/** Adds the functions of Safe's contracts to the operator's ABIs. */
const addSafeAbi = ({ ctx }: Service) =>
  addAbi(ctx, {
    text: JSON.stringify(DECLARATIONS.map(itemOf)),
    fallbackName: 'Safe',
    binding: null,
    actor: 'operator',
  })

const contractWalletsOf = (service: Service) => {
  const { contractWallets } = service.ctx.chains.withNode(network)
  if (contractWallets === null) throw new Error('a network without contract wallets')
  return contractWallets
}

type Parts = { readonly chain: TestChain; readonly service: Service; readonly sql: Sql }

/** What is recorded in the database, and what a worker would make of it. */
const recordsOf = ({ chain, service, sql }: Parts) => {
  const used = async (uuid: string) => {
    const [row] = await sql`select uses::int, spent_value from policies where id = ${uuid}`
    return [row?.uses, row?.spent_value]
  }
  /** Sums by what the wallet itself does. */
  const recorded = async ({ address }: Wallet) => {
    const rows = await sql`select kind, input from transactions where contract_wallet = ${address} order by nonce`
    return rows.map(({ kind, input }) => [kind, contractWalletsOf(service).executed(input)])
  }
  const publish = async (raw: Hex) =>
    chain.receiptOf(await chain.publicClient.sendRawTransaction({ serializedTransaction: raw }))
  const broadcast = async ({ address }: Wallet): Promise<void> => {
    const rows = await sql<
      { raw: Hex }[]
    >`select a.raw from tests.attempts a join transactions t on t.id = a.transaction_id
      where t.contract_wallet = ${address} and a.kind = 'rung' and a.rung = 0 order by t.nonce`
    for (const { raw } of rows) await publish(raw)
  }
  return { used, recorded, publish, broadcast }
}

const safesOf = ({ chain, service, sql }: Parts) => {
  const deploy = (safe: Safe) => chain.send({ to: SAFE_ADDRESSES.proxyFactory, data: deploymentData(safe) })

  /** A user's contract wallet that is not deployed; it and its owner's key have coins. */
  const newSafe = async (): Promise<Safe> => {
    const mode = { type: 'contract', control_mode: 'user', user_pin: PIN }
    const { json } = await service.post('/wallets', { network, name: 'A Safe', owner_id: randomUUID(), ...mode })
    const [row] = await sql`select public_key from wallets where id = ${json.id}`
    const owner = service.ctx.chains.get(network).addressOf(row?.public_key) as Address
    await chain.fund(owner)
    await chain.fund(json.address)
    return { ...json, owner }
  }
  const newDeployedSafe = async (): Promise<Safe> => {
    const safe = await newSafe()
    await deploy(safe)
    return safe
  }
  return { deploy, newSafe, newDeployedSafe }
}

export const startSafeWorld = async () => {
  const chain = await startChain(network)
  await deployCanonicalContracts(chain.rpcUrl)
  const service = await startService({ rpcUrls: { [network]: chain.rpcUrl, Polygon: 'http://127.0.0.1:1' } })
  const sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  await addSafeAbi(service)
  const parts = { chain, service, sql }
  return {
    ...parts,
    ...verbsOf(service),
    ...recordsOf(parts),
    ...safesOf(parts),
    contractWallets: contractWalletsOf(service),
    balanceOf: (address: Address) => chain.publicClient.getBalance({ address }),
    close: async () => {
      await sql.end()
      await service.close()
      await chain.stop()
    },
  }
}

export type SafeWorld = Awaited<ReturnType<typeof startSafeWorld>>
