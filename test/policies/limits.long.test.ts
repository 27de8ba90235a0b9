// Many requests at once on what is left of a policy, over two API processes, each with a vault process of its own.
// What counts is what was signed and what the vaults' audit says.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Address, encodeFunctionData, type Hex, keccak256, parseAbi, parseTransaction } from 'viem'
import { startApiProcess } from '../support/api.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const AT_ONCE = 100
const VALUE = 7n
const MAX_FEE_PER_GAS = 2_000_000_000n
const TERMS = { maxFeePerGas: String(MAX_FEE_PER_GAS), maxPriorityFeePerGas: '1' }
const FEE = 21_000n * MAX_FEE_PER_GAS

const APPROVE = parseAbi(['function approve(address spender, uint256 value)'])
const APPROVE_GAS = 60_000n

let chain: TestChain
let token: Address
let service: Service
let sql: Sql
let vaults: readonly Awaited<ReturnType<typeof startVaultProcess>>[]
let apis: readonly Awaited<ReturnType<typeof startApi>>[]

const startApi = async (socket: string) => {
  const { url, stop } = await startApiProcess({ ...service.variables, VAULT_SOCKET: socket })
  return { post: service.as(service.project, url).post, stop }
}

beforeAll(async () => {
  chain = await startChain(network)
  token = (await chain.deploy('TestToken', ['Test', 'TST', 6])).address
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  const sockets = ['one', 'two'].map((name) => `${service.variables.VAULT_SOCKET}.${name}`)
  vaults = await Promise.all(
    sockets.map((socket) => startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket })),
  )
  apis = await Promise.all(sockets.map(startApi))
})
afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()))
  await Promise.all(vaults.map((vault) => vault.stop()))
  await sql.end()
  await service.close()
  await chain.stop()
})

/** The uses of a policy that the vaults counted, and the hashes of what they signed by it. */
const audited = async (uuid: string) => {
  const rows = await sql`
    select (details->>'policy_uses')::int as uses, details->>'hash' as hash from audit
    where details->>'policy' = ${uuid} and action = 'transaction_signed'`
  return { uses: rows.reduce((sum, { uses }) => sum + uses, 0), hashes: rows.map(({ hash }) => hash).sort() }
}

const payment = {
  rules: () => [{ argument: 'value', operator: 'ge', value: '0' }],
  of: (recipient: string) => ({ to: recipient, value: String(VALUE) }),
  ...{ value: VALUE, gas: 21_000n },
}
const approval = {
  rules: () => [{ argument: 'decodedInput.function', operator: 'eq', value: 'approve(address,uint256)' }],
  of: (spender: string) => ({
    to: token,
    input: encodeFunctionData({ abi: APPROVE, functionName: 'approve', args: [spender as Address, VALUE] }),
  }),
  ...{ value: 0n, gas: APPROVE_GAS },
}
const tokenLimit = (per_seconds: number | null) => ({
  token_limits: [{ contract_address: token, max_total: String(2n * VALUE), per_seconds }],
})
const rolling = (limit: object) => ({ rolling_limits: [{ per_seconds: 86_400, ...limit }] })

const LIMITS = [
  ['the last use', () => ({ max_uses: 2 }), payment, 0n],
  ['the last use of a day', () => rolling({ max_uses: 2 }), payment, 2n],
  ['the last wei of the value', () => ({ max_total_value: String(2n * VALUE) }), payment, 0n],
  ['the last wei of a day', () => rolling({ max_total_value: String(2n * VALUE) }), payment, 2n * VALUE],
  ['the last wei of the fees', () => ({ max_total_fee: String(2n * FEE) }), payment, 0n],
  ['the last unit of a token of a day', () => tokenLimit(86_400), approval, 2n * VALUE],
  ['the last unit of a token', () => tokenLimit(null), approval, 2n * VALUE],
] as const

test.each(LIMITS)(
  '%s is had once by many requests at once',
  async (_, limit, { rules, of, value, gas }, counted) => {
    const wallet = await service.newWallet({ network, pin: PIN })
    await chain.fund(wallet.address)
    const granted = await service.post('/policies', {
      ...{ network, wallet_address: wallet.address, developer_secret: SECRET, user_pin: PIN, ...limit() },
      argument_rules: rules(),
    })
    const { uuid } = granted.json
    const fee = gas * MAX_FEE_PER_GAS
    // Each names another account, so no two signatures are equal.
    const ask = (index: number) =>
      apis[index % apis.length]?.post('/transactions/sign', {
        ...{ network, signer_wallet_address: wallet.address, developer_secret: SECRET },
        unsigned_transaction: {
          ...of(fundedAccount(0).address.slice(0, -2).toLowerCase() + index.toString(16).padStart(2, '0')),
          ...{ ...TERMS, gasLimit: String(gas) },
        },
      })
    const answers = [
      await ask(AT_ONCE),
      ...(await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(index)))),
    ]
    const raws = answers.flatMap((answer) => (answer?.status === 200 ? [answer.json as Hex] : []))
    const signed = raws.map((raw) => parseTransaction(raw))
    const refusals = answers.flatMap((answer) => (answer?.status === 200 ? [] : [answer?.json.code]))
    // A slow machine refuses at once those that would wait too long.
    expect(new Set(refusals.filter((code) => code !== 'busy'))).toEqual(new Set(['policy_denied']))
    expect(signed.map((each) => [each.value ?? 0n, (each.gas ?? 0n) * (each.maxFeePerGas ?? 0n)])).toEqual([
      [value, fee],
      [value, fee],
    ])
    expect(await audited(uuid)).toEqual({ uses: 2, hashes: raws.map((raw) => keccak256(raw)).sort() })
    const [row] = await sql`select uses::int, spent_value, spent_fee, limit_counts from policies where id = ${uuid}`
    expect([row?.uses, row?.spent_value, row?.spent_fee]).toEqual([2, String(2n * value), String(2n * fee)])
    const amounts = row?.limit_counts.flatMap((count: [number, string][]) => count.map(([, amount]) => BigInt(amount)))
    expect(amounts.reduce((sum: bigint, amount: bigint) => sum + amount, 0n)).toBe(counted)
  },
  30_000,
)
