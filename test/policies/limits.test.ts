// A hundred requests at once on what is left of a policy, over two API processes, each with a vault process of its own.
// What counts is what was signed and what the vaults' audit says.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Hex, keccak256, parseTransaction } from 'viem'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const AT_ONCE = 100
const VALUE = 7n
const TERMS = { gasLimit: '21000', maxFeePerGas: '2000000000', maxPriorityFeePerGas: '1' }
const FEE = 21_000n * 2_000_000_000n

let chain: TestChain
let service: Service
let sql: Sql
let vaults: readonly Awaited<ReturnType<typeof startVaultProcess>>[]
let apis: readonly Awaited<ReturnType<typeof startApi>>[]

/** An API as a process of its own, when it listens. */
const startApi = async (socket: string) => {
  const child = Bun.spawn(['bun', '--no-env-file', programPath('src/server')], {
    env: { PATH: process.env.PATH ?? '', ...service.variables, VAULT_SOCKET: socket, PORT: '0', LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const listening = Promise.withResolvers<string>()
  const read = async () => {
    let output = ''
    for await (const chunk of child.stdout) {
      output += Buffer.from(chunk).toString()
      const [, url] = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output) ?? []
      if (url !== undefined) listening.resolve(url)
    }
    listening.reject(new Error(`The API ended: ${output}`))
  }
  void read()
  const { post } = service.as(service.project, await listening.promise)
  const stop = async () => {
    child.kill('SIGTERM')
    return await child.exited
  }
  return { post, stop }
}

beforeAll(async () => {
  chain = await startChain(network)
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

test.each([
  ['the last use', { max_uses: 2 }],
  ['the last wei of the value', { max_total_value: String(2n * VALUE) }],
  ['the last wei of the fees', { max_total_fee: String(2n * FEE) }],
])(
  '%s is had once by a hundred requests at once',
  async (_, limit) => {
    const wallet = await service.newWallet({ network, pin: PIN })
    await chain.fund(wallet.address)
    const granted = await service.post('/policies', {
      ...{ network, wallet_address: wallet.address, developer_secret: SECRET, user_pin: PIN, ...limit },
      argument_rules: [{ argument: 'value', operator: 'ge', value: '0' }],
    })
    const { uuid } = granted.json
    // Each pays another recipient, so no two signatures are equal.
    const ask = (index: number) =>
      apis[index % apis.length]?.post('/transactions/sign', {
        ...{ network, signer_wallet_address: wallet.address, developer_secret: SECRET },
        unsigned_transaction: {
          to: fundedAccount(0).address.slice(0, -2).toLowerCase() + index.toString(16).padStart(2, '0'),
          value: String(VALUE),
          ...TERMS,
        },
      })
    const answers = [
      await ask(AT_ONCE),
      ...(await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(index)))),
    ]
    const raws = answers.flatMap((answer) => (answer?.status === 200 ? [answer.json as Hex] : []))
    const signed = raws.map((raw) => parseTransaction(raw))
    const refusals = answers.flatMap((answer) => (answer?.status === 200 ? [] : [answer?.json.code]))
    expect(new Set(refusals)).toEqual(new Set(['policy_denied']))
    expect(signed.map(({ value, gas = 0n, maxFeePerGas = 0n }) => [value, gas * maxFeePerGas])).toEqual([
      [VALUE, FEE],
      [VALUE, FEE],
    ])
    expect(await audited(uuid)).toEqual({ uses: 2, hashes: raws.map((raw) => keccak256(raw)).sort() })
    const [row] = await sql`select uses::int, spent_value, spent_fee from policies where id = ${uuid}`
    expect([row?.uses, row?.spent_value, row?.spent_fee]).toEqual([2, String(2n * VALUE), String(2n * FEE)])
  },
  30_000,
)
