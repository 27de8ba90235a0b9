// What a developer may do with a user's wallet under a policy, on a real chain, and what no policy allows.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { type Address, encodeFunctionData, type Hex, parseAbi, parseTransaction } from 'viem'
import { deleteAbi, insertAbi } from '../../db/queries/abis.ts'
import { createApp } from '../../src/api/app.ts'
import { abiItemMac } from '../../src/identity/auth/row-macs.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const STRANGER = fundedAccount(6).address
const ERC20 = parseAbi(['function transfer(address to, uint256 value)', 'function burn(uint256 value)'])
const ETHEREUM_FEE_CAP = 1_000n * 10n ** 9n

type Rule = { readonly argument: string; readonly operator: string; readonly value: string }

let chain: TestChain
let service: Service
let second: { as: Service['post']; close(): Promise<void> }
let sql: Sql
let token: { readonly address: Address }
let nfts: Awaited<ReturnType<TestChain['deploy']>>

/** Another API process on the same database. */
const startSecond = async () => {
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'second-api' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  const client = service.as(service.project, `http://127.0.0.1:${server.port}`)
  const close = async () => {
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
  return { as: client.post, close }
}

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  second = await startSecond()
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  token = await chain.deploy('TestToken', ['Test', 'TST', 6])
  nfts = await chain.deploy('WizardCollection', ['Doors', 'DOOR', fundedAccount(0).address])
})

afterAll(async () => {
  await sql.end()
  await second.close()
  await service.close()
  await chain.stop()
})

const newWallet = async (ownerId: string = randomUUID()) => {
  const wallet = await service.newWallet({ network, pin: PIN, ownerId })
  await chain.fund(wallet.address)
  return wallet
}

const policy = async (wallet: { address: string }, rules: readonly Rule[], rest: object = {}): Promise<string> => {
  const both = { developer_secret: SECRET, user_pin: PIN }
  const body = { network, wallet_address: wallet.address, argument_rules: rules, ...both, ...rest }
  const answer = await service.post('/policies', body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.uuid
}

const rule = (argument: string, operator: string, value: string): Rule => ({ argument, operator, value })
const ANYTHING = [rule('value', 'ge', '0')]

const bodyOf = (
  wallet: { address: string },
  transaction: object,
  credentials: object = { developer_secret: SECRET },
) => ({
  network,
  signer_wallet_address: wallet.address,
  unsigned_transaction: transaction,
  ...credentials,
})
const sign = (wallet: { address: string }, transaction: object, credentials?: object) =>
  service.post('/transactions/sign', bodyOf(wallet, transaction, credentials))
const send = (wallet: { address: string }, transaction: object, credentials?: object) =>
  service.post('/transactions/sign-and-send', bodyOf(wallet, transaction, credentials))

const told = ({ status, json }: Answer) => [status, json?.code ?? null]
const DENIED = [403, 'policy_denied']
const DONE = [200, null]

const used = async (uuid: string) => {
  const [row] = await sql`select uses::int, spent_value from policies where id = ${uuid}`
  return [row?.uses, row?.spent_value]
}

const transfer = (to: Address, value: bigint) => ({
  to: token.address,
  input: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [to, value] }),
})

describe('within the rules', () => {
  longTest('the developer can sign and send what matches, and nothing else', async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, [rule('to', 'eq', RECIPIENT.toLowerCase()), rule('value', 'le', '0x64')])
    const signed = await sign(wallet, { to: RECIPIENT, value: '100' })
    expect(parseTransaction(signed.json as Hex)).toMatchObject({ to: RECIPIENT.toLowerCase(), value: 100n })
    // The same transaction as the PIN signs.
    expect((await sign(wallet, { to: RECIPIENT, value: '100' }, { user_pin: PIN })).json).toBe(signed.json)
    expect(told(await send(wallet, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    for (const act of [sign, send]) {
      expect(told(await act(wallet, { to: RECIPIENT, value: '101' }))).toEqual(DENIED)
      expect(told(await act(wallet, { to: STRANGER, value: '1' }))).toEqual(DENIED)
    }
    expect(await used(uuid)).toEqual([2, '101'])
  })

  longTest('call data rules limit a token transfer to one recipient and amount', async () => {
    const wallet = await newWallet()
    await chain.write({
      contract: { ...token, abi: parseAbi(['function mint(address, uint256)']) },
      functionName: 'mint',
      args: [wallet.address, 1_000n],
    })
    await policy(wallet, [
      rule('to', 'eq', token.address),
      rule('decodedInput.function', 'eq', 'transfer'),
      rule('decodedInput.to', 'eq', RECIPIENT),
      rule('decodedInput.value', 'lt', '10'),
    ])
    expect(told(await send(wallet, transfer(RECIPIENT, 9n)))).toEqual(DONE)
    expect(told(await send(wallet, transfer(RECIPIENT, 10n)))).toEqual(DENIED)
    expect(told(await send(wallet, transfer(STRANGER, 9n)))).toEqual(DENIED)
    const { input } = transfer(RECIPIENT, 9n)
    expect(told(await sign(wallet, { to: token.address, input: `${input}00` }))).toEqual(DENIED)
    const burn = encodeFunctionData({ abi: ERC20, functionName: 'burn', args: [1n] })
    expect(told(await sign(wallet, { to: token.address, input: burn }))).toEqual(DENIED)
    expect(told(await sign(wallet, { to: token.address, value: '1' }))).toEqual(DENIED)
  })

  longTest(
    "a policy uses the operator's added ABIs from the next request on, and keeps its function when they change",
    async () => {
      const wallet = await newWallet()
      const rules = [rule('decodedInput.function', 'eq', 'knock'), rule('decodedInput.door', 'eq', '7')]
      const grant = () => {
        const both = { developer_secret: SECRET, user_pin: PIN }
        return service.post('/policies', { network, wallet_address: wallet.address, argument_rules: rules, ...both })
      }
      const [seven, eight] = [7n, 8n].map((door) =>
        encodeFunctionData({ abi: parseAbi(['function knock(uint256 door)']), args: [door] }),
      )
      const input = seven ?? '0x'
      expect(told(await grant())).toEqual([400, 'invalid_input'])
      const selector = input.slice(0, 10)
      const item = { name: 'knock', inputs: [{ name: 'door', type: 'uint256' }] }
      const mac = abiItemMac(service.ctx.identity)
      const add = async (name: string, declared: typeof item) => {
        const shape = { abiName: name, network: null, address: null, kind: 'function', selector } as const
        const row = { ...shape, signature: 'knock(uint256)', item: declared }
        await service.ctx.db.transaction((tx) => insertAbi(tx, { name, items: [{ ...row, mac: mac.of(row) }] }))
      }
      await add('Doors', item)
      const made = await grant()
      const [named] = made.json.argument_rules
      expect(named).toEqual({ ...rules[0], selector, declaration: 'knock(uint256 door)' })
      const listed = (await service.get('/policies', { network, wallet_address: wallet.address })).json
      expect(listed[0].argument_rules).toEqual([named, rules[1]])
      // Other names, and another function with the same selector: what was agreed to stays so.
      const colliding = { name: 'other', inputs: [{ name: 'door', type: 'int8' }] }
      await add('Collision', colliding)
      await deleteAbi(service.ctx.db, 'Doors')
      await add('Doors', { ...item, inputs: [{ name: 'window', type: 'uint256' }] })
      expect(told(await sign(wallet, { to: RECIPIENT, input }))).toEqual(DONE)
      expect(told(await sign(wallet, { to: RECIPIENT, input: eight ?? '0x' }))).toEqual(DENIED)
      expect(told(await grant())).toEqual([400, 'invalid_input'])
      for (const name of ['Doors', 'Collision']) await deleteAbi(service.ctx.db, name)
    },
  )

  longTest('the developer can mint and transfer', async () => {
    const wallet = await newWallet()
    const own = await chain.deploy('WizardCollection', ['Own', 'OWN', wallet.address])
    await policy(wallet, [rule('to', 'eq', own.address), rule('decodedInput.function', 'eq', 'safeMint')])
    const mint = {
      network,
      from: wallet.address,
      contract_address: own.address,
      uri: 'ipfs://one',
      developer_secret: SECRET,
    }
    expect(told(await service.post('/nfts/mint', mint))).toEqual(DONE)
    await chain.write({ contract: nfts, functionName: 'safeMint', args: [wallet.address, 'ipfs://two'] })
    const move = {
      network,
      from: wallet.address,
      contract_address: nfts.address,
      recipient: RECIPIENT,
      token_id: '0',
      developer_secret: SECRET,
    }
    expect(told(await service.post('/nfts/transfer', move))).toEqual(DENIED)
    const moved = [rule('decodedInput.tokenId', 'eq', '0'), rule('decodedInput.to', 'eq', RECIPIENT)]
    const transfers = rule('decodedInput.function', 'eq', 'safeTransferFrom(address,address,uint256)')
    await policy(wallet, [...moved, transfers])
    expect(told(await service.post('/nfts/transfer', { ...move, recipient: STRANGER }))).toEqual(DENIED)
    expect(told(await service.post('/nfts/transfer', move))).toEqual(DONE)
  })
})

describe('no policy', () => {
  test('allows a contract creation, a new collection or fees above the cap', async () => {
    const wallet = await newWallet()
    await policy(wallet, ANYTHING)
    expect(told(await sign(wallet, { input: '0x600160005360016000f3' }))).toEqual(DENIED)
    const collection = { network, from: wallet.address, name: 'C', symbol: 'C', image_url: 'ipfs://c' }
    expect(told(await service.post('/nfts/collections', { ...collection, developer_secret: SECRET }))).toEqual(DENIED)
    const above = { to: RECIPIENT, maxFeePerGas: String(ETHEREUM_FEE_CAP + 1n) }
    for (const act of [sign, send]) expect(told(await act(wallet, above))).toEqual(DENIED)
    // The owner may do it.
    expect(
      told(await sign(wallet, { to: RECIPIENT, maxFeePerGas: String(ETHEREUM_FEE_CAP + 1n) }, { user_pin: PIN })),
    ).toEqual(DONE)
  })

  test('lets the secret export a wallet or change its PIN', async () => {
    const wallet = await newWallet()
    await policy(wallet, ANYTHING)
    const of = { network, address: wallet.address }
    expect(told(await service.post('/wallets/export', { ...of, developer_secret: SECRET }))).toEqual([
      400,
      'credential_required',
    ])
    const change = { ...of, old_user_pin: '000000', new_user_pin: '604913' }
    expect(told(await service.post('/wallets/change-user-pin', change))).toEqual([403, 'INVALID_SECRET'])
  })

  longTest('covers another wallet of the owner, or another owner', async () => {
    const wallet = await newWallet()
    await policy(await newWallet(), ANYTHING)
    expect(told(await sign(wallet, { to: RECIPIENT }))).toEqual([400, 'credential_required'])
    await policy(wallet, [rule('value', 'eq', '1')])
    expect(told(await sign(wallet, { to: RECIPIENT }))).toEqual(DENIED)
  })

  test('replaces a right secret, or allows two credentials where one belongs', async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, ANYTHING)
    const both = { developer_secret: SECRET, user_pin: PIN }
    expect(told(await sign(wallet, { to: RECIPIENT }, { developer_secret: 'wrong' }))).toEqual([403, 'INVALID_SECRET'])
    expect(told(await sign(wallet, { to: RECIPIENT }, both))).toEqual([400, 'credential_ambiguous'])
    expect(told(await sign(wallet, { to: RECIPIENT }, {}))).toEqual([400, 'credential_required'])
    expect(await used(uuid)).toEqual([0, '0'])
  })
})

describe('limits', () => {
  longTest('on value hold for sign and send together, to the last unit', async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, ANYTHING, { max_total_value: '10' })
    expect(told(await sign(wallet, { to: RECIPIENT, value: '11' }))).toEqual(DENIED)
    expect(told(await sign(wallet, { to: RECIPIENT, value: '6' }))).toEqual(DONE)
    expect(told(await send(wallet, { to: RECIPIENT, value: '5' }))).toEqual(DENIED)
    expect(told(await send(wallet, { to: RECIPIENT, value: '4' }))).toEqual(DONE)
    expect(told(await sign(wallet, { to: RECIPIENT, value: '1' }))).toEqual(DENIED)
    expect(told(await sign(wallet, { to: RECIPIENT, value: '0' }))).toEqual(DONE)
    expect(await used(uuid)).toEqual([3, '10'])
  })

  longTest('are not charged for what is not recorded', async () => {
    const wallet = await newWallet()
    const called = await policy(wallet, [rule('decodedInput.function', 'eq', 'transfer')], { max_uses: 1 })
    expect(told(await send(wallet, transfer(RECIPIENT, 1n)))).toEqual([400, 'execution_reverted'])
    expect(await used(called)).toEqual([0, '0'])
    const uuid = await policy(wallet, ANYTHING, { max_uses: 1 })
    expect(told(await send(wallet, { to: RECIPIENT, value: String(10n ** 24n) }))).toEqual([
      400,
      'balance_insufficient',
    ])
    expect(told(await send(wallet, { to: RECIPIENT, nonce: '7' }))).toEqual([400, 'nonce_gap'])
    expect(await used(uuid)).toEqual([0, '0'])
    expect(told(await send(wallet, { to: RECIPIENT }))).toEqual(DONE)
    expect(told(await send(wallet, { to: RECIPIENT }))).toEqual(DENIED)
  })

  longTest('are charged once for requests with one Idempotency-Key', async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, ANYTHING)
    const headers = { 'idempotency-key': randomUUID() }
    const body = bodyOf(wallet, { to: RECIPIENT, value: '1' })
    const answers = [1, 2].map(() => service.post('/transactions/sign-and-send', body, headers))
    const [one, two] = await Promise.all(answers)
    expect(one?.json).toEqual(two?.json)
    expect(await used(uuid)).toEqual([1, '1'])
  })

  // limits.long.test.ts has the same for signatures, over two vaults.
  longTest(
    'hold for a hundred transactions at once on the last use, over two processes: one is sent',
    async () => {
      const path = '/transactions/sign-and-send'
      const wallet = await newWallet()
      const uuid = await policy(wallet, ANYTHING, { max_uses: 1 })
      const body = bodyOf(wallet, { to: RECIPIENT, value: '1' })
      const posts = Array.from({ length: 100 }, (_, index) => (index % 2 ? service.post : second.as)(path, body))
      const answers = (await Promise.all(posts)).map(told)
      expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
      expect(answers.filter((answer) => Bun.deepEquals(answer, DENIED))).toHaveLength(99)
      expect(await used(uuid)).toEqual([1, '1'])
      expect(
        await sql`select from audit where details->>'policy' = ${uuid} and action like 'transaction_%'`,
      ).toHaveLength(1)
    },
    20_000,
  )

  longTest(
    'hold for a hundred transactions at once on the last of a fee budget, over two processes: to the last wei',
    async () => {
      const path = '/transactions/sign-and-send'
      const body = (wallet: { address: string }) => bodyOf(wallet, { to: RECIPIENT, value: '1' })
      const first = await newWallet()
      const measured = await policy(first, ANYTHING)
      expect(told(await service.post(path, body(first)))).toEqual(DONE)
      const [row] = await sql`select spent_fee from policies where id = ${measured}`
      const fee = BigInt(row?.spent_fee)

      const wallet = await newWallet()
      const budget = 3n * fee
      const kept = await policy(wallet, ANYTHING, { max_total_fee: String(budget) })
      const tooLittle = await policy(wallet, ANYTHING, { max_total_fee: String(fee - 1n) })
      const posts = Array.from({ length: 100 }, (_, index) =>
        (index % 2 ? service.post : second.as)(path, body(wallet)),
      )
      const answers = (await Promise.all(posts)).map(told)
      expect(answers.filter(([status]) => status === 200)).toHaveLength(3)
      expect(answers.filter((answer) => Bun.deepEquals(answer, DENIED))).toHaveLength(97)
      const rows =
        await sql`select uses::int, spent_fee from policies where id in (${kept}, ${tooLittle}) order by created_at`
      expect(rows.map((each) => [each.uses, each.spent_fee])).toEqual([
        [3, String(budget)],
        [0, '0'],
      ])
    },
    40_000,
  )

  longTest('are charged to the oldest policy that matches, then to the next', async () => {
    const wallet = await newWallet()
    const narrow = await policy(wallet, [rule('value', 'eq', '5')])
    const [one, two] = [
      await policy(wallet, ANYTHING, { max_uses: 3 }),
      await policy(wallet, ANYTHING, { max_uses: 2 }),
    ]
    const posts = Array.from({ length: 8 }, (_, index) =>
      (index % 2 ? service.post : second.as)('/transactions/sign', bodyOf(wallet, { to: RECIPIENT, value: '1' })),
    )
    const answers = (await Promise.all(posts)).map(({ status }) => status).sort()
    expect(answers).toEqual([200, 200, 200, 200, 200, 403, 403, 403])
    expect([await used(narrow), await used(one), await used(two)]).toEqual([
      [0, '0'],
      [3, '3'],
      [2, '2'],
    ])
  })
})

describe('the end of a policy', () => {
  test("follows the database's clock, in every process", async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, ANYTHING, { expires_at: '2099-01-01T00:00:00Z' })
    expect(told(await sign(wallet, { to: RECIPIENT }))).toEqual(DONE)
    await sql`update policies set expires_at = now() where id = ${uuid}`
    const body = bodyOf(wallet, { to: RECIPIENT })
    for (const post of [service.post, second.as]) expect(told(await post('/transactions/sign', body))).toEqual(DENIED)
  })

  test("by revocation takes effect at the next request in every process, and the wallet's other policies go on", async () => {
    const wallet = await newWallet()
    const [uuid, stays] = [await policy(wallet, ANYTHING), await policy(wallet, [rule('value', 'eq', '0')])]
    const body = bodyOf(wallet, { to: RECIPIENT, value: '1' })
    for (const post of [service.post, second.as]) expect(told(await post('/transactions/sign', body))).toEqual(DONE)
    await second.as('/policies/revoke', { uuid, developer_secret: SECRET })
    for (const post of [service.post, second.as]) expect(told(await post('/transactions/sign', body))).toEqual(DENIED)
    expect(told(await sign(wallet, { to: RECIPIENT }))).toEqual(DONE)
    await service.post('/policies/revoke', { uuid: stays, user_pin: PIN })
    for (const post of [service.post, second.as]) {
      expect(told(await post('/transactions/sign', body))).toEqual([400, 'credential_required'])
    }
  })

  longTest('during a request that has the key open leaves nothing recorded', async () => {
    const wallet = await newWallet()
    const uuid = await policy(wallet, ANYTHING)
    const late: Promise<unknown>[] = []
    await sql.begin(async (tx) => {
      // The request waits at its charge for the revocation, which is not committed yet.
      await tx`update policies set revoked_at = now() where id = ${uuid}`
      await tx`delete from policy_locks where policy_id = ${uuid}`
      late.push(send(wallet, { to: RECIPIENT, value: '1' }).then(told))
      const waits = () =>
        sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      for (const deadline = Date.now() + 5_000; (await waits()).length === 0; ) {
        if (Date.now() > deadline) throw new Error('nobody waits for the row')
      }
    })
    expect(await Promise.all(late)).toEqual([DENIED])
    expect(await sql`select from transactions where wallet_id = ${wallet.id}`).toHaveLength(0)
    expect(await used(uuid)).toEqual([0, '0'])
  })

  longTest('does not follow from a change of the PIN', async () => {
    const wallet = await newWallet()
    await policy(wallet, ANYTHING)
    const change = { network, address: wallet.address, old_user_pin: PIN, new_user_pin: '604913' }
    expect(told(await service.post('/wallets/change-user-pin', change))).toEqual(DONE)
    expect(told(await sign(wallet, { to: RECIPIENT }))).toEqual(DONE)
  })
})

describe('a developer-controlled wallet under policies', () => {
  const UNDER = [403, 'under_policies']
  const TO_RECIPIENT = [rule('to', 'eq', RECIPIENT.toLowerCase()), rule('value', 'le', '5')]

  const developerWallet = async (rules: readonly Rule[] | null, rest: object = {}) => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID() })
    await chain.fund(wallet.address)
    const body = { network, wallet_address: wallet.address, argument_rules: rules, developer_secret: SECRET, ...rest }
    const made = rules === null ? null : await service.post('/policies', body)
    if (made !== null && made.status !== 200) throw new Error(made.text)
    return { ...wallet, uuid: made?.json.uuid as string }
  }
  const put = ({ address }: { address: string }, developer_secret = SECRET) =>
    service.post('/wallets/put-under-policies', { network, address, developer_secret })

  test('can be used only as a policy allows, over both processes together', async () => {
    const wallet = await developerWallet(TO_RECIPIENT, { max_uses: 4 })
    // A policy limits nothing before.
    expect(told(await send(wallet, { to: STRANGER, value: '6' }))).toEqual(DONE)
    expect(told(await put(wallet, 'wrong-secret'))).toEqual([403, 'INVALID_SECRET'])
    expect(told(await put(wallet))).toEqual(DONE)
    expect(told(await sign(wallet, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    for (const act of [sign, send]) {
      expect(told(await act(wallet, { to: STRANGER, value: '1' }))).toEqual(DENIED)
      expect(told(await act(wallet, { to: RECIPIENT, value: '6' }))).toEqual(DENIED)
    }
    const body = bodyOf(wallet, { to: RECIPIENT, value: '1' })
    const at = (post: Service['post']) => post('/transactions/sign-and-send', body)
    const tried = await Promise.all([service.post, second.as, service.post, second.as, service.post].map(at))
    expect(tried.filter(({ status }) => status === 200).length).toBe(3)
    expect(await used(wallet.uuid)).toEqual([4, '4'])
  })

  test('refuses a complete transaction that no policy allows', async () => {
    const wallet = await developerWallet(null)
    expect(told(await put(wallet))).toEqual(DONE)
    const fees = { maxFeePerGas: '2000000000', maxPriorityFeePerGas: '1', gasLimit: '21000' }
    expect(told(await sign(wallet, { to: RECIPIENT, value: '1', nonce: '0', ...fees }))).toEqual(DENIED)
  })

  test('no message, no export, no further policy and no further wallet, until an operator releases the owner', async () => {
    const wallet = await developerWallet(TO_RECIPIENT)
    expect(told(await put(wallet))).toEqual(DONE)
    const { address, owner_id } = wallet
    const secret = { developer_secret: SECRET }
    const acts: readonly (readonly [string, object])[] = [
      ['/transactions/sign-message', { network, signer_wallet_address: address, message: 'It is here.' }],
      ['/wallets/export', { network, address }],
      ['/policies', { network, wallet_address: address, argument_rules: ANYTHING }],
      ['/wallets', { network: 'Vara', name: 'V', owner_id, control_mode: 'developer' }],
    ]
    const all = () =>
      Promise.all(acts.map(async ([path, body]) => told(await service.post(path, { ...body, ...secret }))))
    expect(await all()).toEqual(acts.map(() => UNDER))
    const owner = ['--project', service.project.projectId, '--owner', owner_id]
    const released = await runCli(['owner', 'release-from-policies', ...owner], service.variables)
    expect([released.exitCode, released.output]).toEqual([0, 'The wallets of the owner are under policies no more.\n'])
    expect(await all()).toEqual(acts.map(() => DONE))
    expect(told(await send(wallet, { to: STRANGER, value: '6' }))).toEqual(DONE)
  })

  longTest('a preview judges its transactions by its policies', async () => {
    const wallet = await developerWallet(TO_RECIPIENT)
    const preview = async (value: string) =>
      (
        await service.post('/transactions/preview', {
          network,
          from: wallet.address,
          unsigned_transaction: { to: RECIPIENT, value },
        })
      ).json.policy
    expect(await preview('5')).toMatchObject({ allowed: true, uuid: wallet.uuid })
    expect(await preview('6')).toMatchObject({ allowed: false, refusals: [{ reason: 'rule_not_matched', rule: 1 }] })
  })
})

describe('a preview', () => {
  const preview = async (from: string, unsigned_transaction: object, client: Pick<Service, 'post'> = service) =>
    (await client.post('/transactions/preview', { network, from, unsigned_transaction })).json.policy

  test('names the policy that would be charged, or what each lacks, and the request is answered so', async () => {
    const wallet = await newWallet()
    const payment = { to: STRANGER, value: '4' }
    const told = { never: null, needs_approval: false }
    const none = { ...told, allowed: false, uuid: null, refusals: [] }
    expect(await preview(wallet.address, payment)).toEqual(none)
    const calls = await policy(wallet, [rule('to', 'eq', token.address)])
    const payments = await policy(wallet, [rule('value', 'le', '100')], { max_uses: 1 })
    const refused = (reason: string, at: number | null) => ({
      ...none,
      refusals: [
        { uuid: calls, reason: 'rule_not_matched', rule: 0 },
        { uuid: payments, reason, rule: at },
      ],
    })
    const allowed = { ...told, allowed: true, uuid: payments, refusals: [] }
    for (const [transaction, expected] of [
      [{ ...payment, value: '101' }, refused('rule_not_matched', 0)],
      [payment, allowed],
      [payment, refused('used_up', null)],
    ] as const) {
      expect(await preview(wallet.address, transaction)).toEqual(expected)
      expect((await sign(wallet, transaction)).status).toBe(expected.allowed ? 200 : 403)
    }
  })

  test('tells nothing of a wallet of another user', async () => {
    const wallet = await newWallet()
    await policy(wallet, ANYTHING)
    const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    const user = service.as({ projectId: service.project.projectId, apiKey: session.access_token })
    expect(await preview(wallet.address, { to: RECIPIENT, value: '1' }, user)).toBeUndefined()
  })
})

longTest('the audit names the policy of each delegated use, and none for a use of the PIN', async () => {
  const wallet = await newWallet()
  const uuid = await policy(wallet, ANYTHING)
  await sign(wallet, { to: RECIPIENT })
  await send(wallet, { to: RECIPIENT })
  await sign(wallet, { to: RECIPIENT }, { user_pin: PIN })
  await service.post('/policies/revoke', { uuid, user_pin: PIN })
  const rows =
    await sql`select action, details->>'policy' as policy, details->>'by' as by from audit where subject = ${wallet.id} order by id`
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['wallet_created', null, null],
    ['policy_created', uuid, null],
    ['transaction_signed', uuid, null],
    ['transaction_submitted', uuid, null],
    ['transaction_signed', null, null],
    ['policy_revoked', uuid, 'user'],
  ])
})
