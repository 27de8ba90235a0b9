// What policies cost: judging one call beside 1, 10 and 1,000 policies of its wallet, without vault and node; and a
// signature that a policy allows beside one of a wallet under the developer's control, one at a time and in turns, over
// HTTP to an API with a vault beside it: once as apps ask, with nonce and fees left to the service, and once with all
// fields given. By a policy a node is asked then, too, for what the fields are compared with; without one nobody asks.

import { hexToBytes } from 'viem'
import { createEvmChain } from '../src/chains/evm/chain.ts'
import { evmNetworkRow } from '../src/platform/networks.ts'
import { createMemory } from '../test/chains/evm/memory.ts'
import { allowingPolicy, unrevokedOf } from '../test/policies/oracle/judge.ts'
import { NO_LIMITS } from '../test/policies/oracle/limits.ts'
import type { Policy } from '../test/policies/oracle/oracle.ts'
import { fundedAccount, type TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { headersOf, median } from './load.ts'
import { startStack } from './stack.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const EXISTING = [1, 10, 1_000] as const
const JUDGED = 2_000
const SIGNED = 500
const WARM = 500
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const SPENDER = fundedAccount(5).address
const GWEI = 1_000_000_000n
const GIVEN = { gasLimit: '21000', maxFeePerGas: String(2n * GWEI), maxPriorityFeePerGas: '1', nonce: '0' }

export type PolicyBench = {
  readonly judged: readonly { readonly existing: number; readonly p50Ms: number }[]
  readonly signed: readonly SignedBench[]
}

type SignedBench = {
  readonly fields: 'left open' | 'given'
  readonly ownP50Ms: number
  readonly delegatedP50Ms: number
  /** The time of a signature by a policy, in times of the developer's own. */
  readonly ratio: number
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begunMs = performance.now()
  await work()
  return performance.now() - begunMs
}

const policyOf = (recipient: string): Policy => ({
  rules: [
    { argument: 'to', operator: 'eq', value: TOKEN },
    { argument: 'decodedInput.function', operator: 'eq', value: 'transfer' },
    { argument: 'decodedInput.to', operator: 'eq', value: recipient },
    { argument: 'decodedInput.value', operator: 'le', value: '1000000' },
  ],
  ...{ isExpired: false, uses: 0, maxUses: null, spentValue: 0n, maxTotalValue: null, limits: NO_LIMITS },
})

/** Only the last of the policies allows the call, so all are judged. */
const benchJudging = async (existing: number): Promise<number> => {
  const memory = createMemory()
  memory.kept.set(TOKEN, { isContract: true, standard: 'erc20', name: 'Token', symbol: '', decimals: 6 })
  const row = evmNetworkRow({ network, environment: 'testnet', devnet: true })
  const chain = createEvmChain({ row, rpcUrl: 'http://127.0.0.1:1', memory })
  const recipientWord = SPENDER.slice(2).toLowerCase().padStart(64, '0')
  const input = `0xa9059cbb${recipientWord}${5n.toString(16).padStart(64, '0')}` as const
  const policies = Array.from({ length: existing }, (_, at) => policyOf(at === existing - 1 ? SPENDER : TOKEN))
  const publicKey = hexToBytes(fundedAccount(3).publicKey)
  const use = { chain, publicKey, unrevoked: await unrevokedOf({ chain, policies }) }
  const times: number[] = []
  for (let count = 0; count < WARM + JUDGED; count += 1) {
    times.push(
      await timed(async () => {
        const opened = await allowingPolicy(use, [{ to: TOKEN, value: 0n, input }])
        if (opened !== existing - 1) throw new Error('expected the last policy to allow the call')
      }),
    )
  }
  return median(times.slice(WARM))
}

export const benchPolicy = async (service: Service, chain: TestChain): Promise<PolicyBench> => {
  const judged: { existing: number; p50Ms: number }[] = []
  for (const existing of EXISTING) judged.push({ existing, p50Ms: await benchJudging(existing) })
  const own = await service.newWallet({ network })
  const users = await service.newWallet({ network, pin: PIN })
  for (const { address } of [own, users]) await chain.fund(address)
  const granted = await service.post('/policies', {
    ...{ network, wallet_address: users.address, developer_secret: SECRET, user_pin: PIN },
    ...{ argument_rules: [{ argument: 'to', operator: 'eq', value: SPENDER }], max_total_fee: String(10n ** 24n) },
  })
  if (granted.status !== 200) throw new Error(granted.text)
  const { url, stop } = await startStack(service)
  const benchSigning = async (fields: SignedBench['fields']): Promise<SignedBench> => {
    const unsigned_transaction = { to: SPENDER, value: '1', ...(fields === 'given' ? GIVEN : {}) }
    const sign = async (signer: string) => {
      const body = { network, signer_wallet_address: signer, developer_secret: SECRET, unsigned_transaction }
      const request = { method: 'POST', headers: headersOf(service), body: JSON.stringify(body) }
      const answer = await fetch(`${url}/transactions/sign`, request)
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(text)
    }
    const times: { readonly own: number[]; readonly delegated: number[] } = { own: [], delegated: [] }
    for (let count = 0; count < WARM + SIGNED; count += 1) {
      times.own.push(await timed(() => sign(own.address)))
      times.delegated.push(await timed(() => sign(users.address)))
    }
    const [ownP50Ms, delegatedP50Ms] = [median(times.own.slice(WARM)), median(times.delegated.slice(WARM))]
    return { fields, ownP50Ms, delegatedP50Ms, ratio: delegatedP50Ms / ownP50Ms }
  }
  try {
    return { judged, signed: [await benchSigning('left open'), await benchSigning('given')] }
  } finally {
    await stop()
  }
}

export const policyTable = ({ judged, signed }: PolicyBench): readonly string[] => [
  '\nPolicies, one at a time                                p50 ms',
  ...judged.map(({ existing, p50Ms }) => {
    const what = `judging a call, ${existing.toLocaleString('en')} existing`
    return `  ${what.padEnd(46)} ${p50Ms.toFixed(3).padStart(12)}   (aim: ≤ 0.2)`
  }),
  ...signed.flatMap(({ fields, ownP50Ms, delegatedP50Ms, ratio }) => [
    `  ${`/transactions/sign, developer-controlled, fields ${fields}`.padEnd(58)} ${ownP50Ms.toFixed(2)}`,
    `  ${`/transactions/sign, by a policy, fields ${fields}`.padEnd(58)} ${delegatedP50Ms.toFixed(2)}   ${ratio.toFixed(2)} × (aim: ≤ 1.3 ×)`,
  ]),
]
