// Safes as wallets, before and after their deployment, on a chain with the canonical contracts and a worker.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { type Address, encodeFunctionData, type Hex, parseAbi, parseEther } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { cancelTransaction } from '../../src/signing/transactions/waiting.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
])

let chain: TestChain
let service: Service
let worker: WorkerHere
let sql: Sql
let token: Awaited<ReturnType<TestChain['deploy']>>

beforeAll(async () => {
  chain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  await deployCanonicalContracts(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  token = await chain.deploy('TestToken', ['Test', 'TST', 6])
  worker = await startWorkerHere(service)
})

afterAll(async () => {
  await sql.end()
  await worker.stop()
  await service.close()
  await chain.stop()
})

type Wallet = { readonly address: Address; readonly owner_id: string }

const create = (body: object = {}): Promise<Answer> =>
  service.post('/wallets', {
    network,
    name: 'A Safe',
    type: 'contract',
    control_mode: 'developer',
    developer_secret: SECRET,
    ...body,
  })

const newSafe = async (body: object = {}): Promise<Wallet> => {
  const answer = await create(body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json
}

const bodyOf = (from: { address: string }, unsigned: object) => ({
  network,
  signer_wallet_address: from.address,
  unsigned_transaction: unsigned,
  developer_secret: SECRET,
})
const post = (path: string, from: { address: string }, unsigned: object) => service.post(path, bodyOf(from, unsigned))
const send = (from: { address: string }, unsigned: object) => post('/transactions/sign-and-send', from, unsigned)
const batch = (from: { address: string }, unsigned: readonly object[], rest: object = {}) =>
  service.post('/transactions/batch-sign-and-send', {
    network,
    signer_wallet_address: from.address,
    unsigned_transactions: unsigned,
    developer_secret: SECRET,
    ...rest,
  })

/** A client learns the address of the owner's key from the error about missing coins for gas. */
const ownerOf = async (safe: Wallet): Promise<Address> => {
  const { json } = await send(safe, { to: RECIPIENT, value: '0' })
  const [owner] = /^0x[0-9a-fA-F]{40}/.exec(json.error) ?? []
  if (json.code !== 'balance_insufficient' || owner === undefined)
    throw new Error(`no owner in ${JSON.stringify(json)}`)
  return owner as Address
}

/** A wallet with coins for itself and for its owner's key. */
const fundedSafe = async (): Promise<Wallet & { readonly owner: Address }> => {
  const safe = await newSafe()
  const owner = await ownerOf(safe)
  await chain.fund(owner)
  await chain.fund(safe.address)
  return { ...safe, owner }
}

const succeeded = async (answer: Answer): Promise<string> => {
  expect(answer.json).toMatchObject({ status: 'submitted' })
  const { json } = await service.settled(answer.json.transaction_id)
  expect(json).toMatchObject({ status: 'success' })
  return json.transaction_hash
}

/** A payment of one wei more than its ten, all of which it sends before. */
const spent = ({ address }: Wallet): string =>
  `${address} needs 0.000000000000000001 ETH for this transaction, and has 0.00000000000000001 ETH, of which its pending transactions spend 0.00000000000000001 ETH.`

const anotherProject = async () => service.as(await createProject(service.ctx, { name: 'Another', actor: 'operator' }))
const codeAt = (address: Address) => chain.publicClient.getCode({ address })
const balanceOf = (address: Address) => chain.publicClient.getBalance({ address })
const recordedFor = (safe: Wallet) => sql<{ id: string; kind: string; status: string; error_code: string | null }[]>`
  select id, kind, status, error_code from transactions where contract_wallet = ${safe.address} order by nonce`

describe('the address of a contract wallet', () => {
  test('differs from that of its key, and is known before deployment', async () => {
    const safe = await newSafe()
    expect(safe.address).not.toBe(await ownerOf(safe))
    expect(await codeAt(safe.address)).toBeUndefined()
  })

  test('is not available on Polkadot', async () => {
    const answer = await create({ network: 'Polkadot' })
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    expect(answer.json.error).toContain('"type"')
  })
})

describe('the first transaction', () => {
  test('needs coins for gas at the key, and coins to send at the wallet', async () => {
    const safe = await newSafe()
    const owner = await ownerOf(safe)
    await chain.fund(owner)
    const poor = await send(safe, { to: RECIPIENT, value: parseEther('2').toString() })
    expect([poor.status, poor.json.code]).toEqual([400, 'balance_insufficient'])
    expect(poor.json.error).toBe(`${safe.address} needs 2 ETH for this transaction, and has 0 ETH.`)
    const several = await batch(
      safe,
      ['2', '1'].map((ether) => ({ to: RECIPIENT, value: parseEther(ether).toString() })),
    )
    expect(several.json.error).toBe(`${safe.address} needs 3 ETH for this transaction, and has 0 ETH.`)
    expect([...(await recordedFor(safe))]).toEqual([])
  })

  test('deploys the wallet first, once for three intents at a time', async () => {
    const safe = await fundedSafe()
    const before = await balanceOf(RECIPIENT)
    const answers = await Promise.all([1, 2, 3].map((value) => send(safe, { to: RECIPIENT, value: String(value) })))
    for (const answer of answers) await succeeded(answer)
    expect(await balanceOf(RECIPIENT)).toBe(before + 6n)
    const recorded = await recordedFor(safe)
    expect(recorded.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      'deployment success',
      ...Array<string>(3).fill('send success'),
    ])
    expect(await codeAt(safe.address)).toBeDefined()
  })
})

longTest('the audit has the calls of the wallet, deployed or not', async () => {
  const safe = await fundedSafe()
  const calls = [
    { to: RECIPIENT, value: '3' },
    { to: safe.owner, value: '4' },
  ]
  const actsOf = async () => {
    const rows = await sql<{ action: string; details: Record<string, string> }[]>`
      select action, details from audit a join wallets w on w.id::text = a.subject
      where w.address = ${safe.address} and a.details ? 'hash' order by a.id`
    return rows.map(({ action, details: { hash: _, further_hashes: __, transaction: ___, ...told } }) => [action, told])
  }
  const [contract_wallet, recipient] = [safe.address.toLowerCase(), RECIPIENT.toLowerCase()]
  const of = { network, chain_id: '11155111' }
  const made = { ...of, contract_wallet: expect.stringMatching(new RegExp(contract_wallet, 'i')) }
  expect((await post('/transactions/sign', safe, { to: RECIPIENT, value: '2' })).status).toBe(200)
  const inner = { ...made, contract_wallet_nonce: '0', to: recipient, value: '2', message_type: 'safe_transaction' }
  const outer = { ...of, nonce: '0', to: expect.stringMatching(/^0x[0-9a-f]{40}$/), value: '0' }
  expect(await actsOf()).toEqual([
    ['message_signed', inner],
    ['transaction_signed', outer],
  ])
  await succeeded(await send(safe, { to: RECIPIENT, value: '1' }))
  await succeeded(await batch(safe, calls))
  expect((await post('/transactions/sign', safe, { to: RECIPIENT, value: '5' })).status).toBe(200)
  expect((await actsOf()).slice(2)).toEqual([
    ['transaction_submitted', { ...outer, kind: 'deployment' }],
    ['transaction_submitted', { ...made, nonce: '1', kind: 'send', to: recipient, value: '1' }],
    [
      'transaction_submitted',
      { ...made, nonce: '2', kind: 'batch', calls: '2', to: `${recipient} ${safe.owner.toLowerCase()}`, value: '3 4' },
    ],
    ['transaction_signed', { ...made, nonce: '3', to: recipient, value: '5' }],
  ])
})

const transfer = (to: Address, value: bigint) => ({
  to: token.address,
  input: encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [to, value] }),
})
const tokensOf = (address: Address) =>
  chain.publicClient.readContract({ ...token, functionName: 'balanceOf', args: [address] }) as Promise<bigint>
const give = (to: Address, amount: bigint) => chain.write({ contract: token, functionName: 'mint', args: [to, amount] })

const until = async <Value>(look: () => Promise<Value>, right: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 15_000
  for (;;) {
    const value = await look()
    if (right(value)) return value
    if (Date.now() > deadline) throw new Error(`it did not come to that: ${JSON.stringify(value)}`)
    await Bun.sleep(20)
  }
}

/** While this runs, blocks come only on request. */
const withoutBlocks = async (run: () => Promise<void>): Promise<void> => {
  await chain.setAutomine(false)
  try {
    await run()
  } finally {
    await chain.setAutomine(true)
    await chain.mine()
  }
}

const deployedSafe = async () => {
  const safe = await fundedSafe()
  await succeeded(await send(safe, { to: RECIPIENT, value: '1' }))
  return safe
}

describe('several calls at once', () => {
  test('are one transaction, also of a wallet that is not deployed yet', async () => {
    const safe = await fundedSafe()
    await give(safe.address, 100n)
    const approve = encodeFunctionData({ abi: ERC20, functionName: 'approve', args: [RECIPIENT, 60n] })
    await succeeded(
      await batch(safe, [
        { to: token.address, input: approve },
        transfer(RECIPIENT, 40n),
        { to: RECIPIENT, value: '5' },
      ]),
    )
    const allowed = { ...token, functionName: 'allowance', args: [safe.address, RECIPIENT] }
    expect(await chain.publicClient.readContract(allowed)).toBe(60n)
    expect(await tokensOf(safe.address)).toBe(60n)
    expect((await recordedFor(safe)).map(({ kind }) => kind)).toEqual(['deployment', 'batch'])
  })

  longTest('see the effects of the calls before them', async () => {
    const safe = await deployedSafe()
    await give(RECIPIENT, 10n)
    await chain.write({
      contract: token,
      functionName: 'approve',
      args: [safe.address, 10n],
      account: fundedAccount(5),
    })
    const take = encodeFunctionData({ abi: ERC20, functionName: 'transferFrom', args: [RECIPIENT, safe.address, 10n] })
    await succeeded(await batch(safe, [{ to: token.address, input: take }, transfer(fundedAccount(7).address, 10n)]))
    expect(await tokensOf(safe.address)).toBe(0n)
  })

  test('are all refused if one fails; the answer names its index', async () => {
    const safe = await fundedSafe()
    const answer = await batch(safe, [{ to: RECIPIENT, value: '1' }, transfer(RECIPIENT, 1n)])
    expect([answer.status, answer.json.code]).toEqual([400, 'execution_reverted'])
    expect(answer.json.error).toMatch(/^execution reverted: .+ \(unsigned_transactions\.1\)$/)
    expect([...(await recordedFor(safe))]).toEqual([])
  })

  const other = { to: RECIPIENT, value: '1' }
  const bad: readonly [string, object, string][] = [
    [
      'a nonce of its own',
      { unsigned_transactions: [other, { ...other, nonce: '1' }] },
      'unsigned_transactions.1.nonce',
    ],
    [
      'a gas limit of its own',
      { unsigned_transactions: [{ ...other, gasLimit: '21000' }] },
      'unsigned_transactions.0.gasLimit',
    ],
    ['a creation', { unsigned_transactions: [{ input: '0x00' }] }, 'unsigned_transactions.0.to'],
    ['nothing', { unsigned_transactions: [] }, 'unsigned_transactions'],
    [
      'values beyond all coins',
      { unsigned_transactions: [{ to: RECIPIENT, value: `0x${'f'.repeat(64)}` }, other] },
      'unsigned_transactions',
    ],
  ]
  test.each(bad)('with %s are refused as bad input', async (_, change, field) => {
    const safe = await newSafe()
    const answer = await batch(safe, [], change)
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    expect(answer.json.error).toContain(`"${field}"`)
  })

  test('are refused for an eoa wallet', async () => {
    const eoa = await service.newWallet({ network })
    const answer = await batch(eoa, [other, other])
    expect([answer.status, answer.json.code]).toEqual([400, 'batch_unsupported'])
  })
})

/** Fees that put a transaction first in its block. */
const RUSHED = { maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x174876e800' }

/** An outside transaction in the pool takes tokens from a Safe, and is mined first. */
const takenOutside = async (safe: Wallet, amount: bigint): Promise<void> => {
  await chain.rpc('anvil_impersonateAccount', [safe.address])
  const data = transfer(fundedAccount(7).address, amount).input
  const taken = { ...{ from: safe.address, to: token.address, data, gas: '0x30d40' }, ...RUSHED }
  await chain.rpc('eth_sendTransaction', [taken])
}

describe('a call that fails', () => {
  test('is refused with the inner reason, and nothing is recorded', async () => {
    for (const newOne of someOf([fundedSafe, deployedSafe], 2)) {
      const safe = await newOne()
      const answer = await send(safe, transfer(RECIPIENT, 1n))
      expect([answer.status, answer.json.code]).toEqual([400, 'execution_reverted'])
      expect(answer.json.error).toMatch(/^execution reverted: /)
      expect(answer.json.error).not.toContain('GS013')
    }
  })

  longTest('is refused if pending calls spend its coins, unless they bring in others', async () => {
    const safe = await fundedSafe()
    await chain.fund(safe.address, 10n)
    const coin = await chain.deploy('WrappedCoin')
    const call = (input: Hex, value = '0') => ({ to: coin.address, value, input })
    const [deposit, withdraw] = ['0xd0e30db0', `0x2e1a7d4d${'4'.padStart(64, '0')}`] as const
    const pay = (value: string) => ({ to: RECIPIENT, value })
    const accepted: Answer[] = []
    // Words in which nodes say that a sender lacks coins.
    const lacking = { code: 'execution_reverted', error: 'execution reverted: Insufficient balance' }
    expect((await send(safe, call(withdraw))).json).toEqual(lacking)
    await withoutBlocks(async () => {
      // These are held back until the wallet is deployed, so the node does not know them.
      accepted.push(await send(safe, pay('6')), await send(safe, call(deposit, '4')))
      for (const answer of [await send(safe, pay('1')), await batch(safe, [pay('0'), pay('1')])]) {
        expect([answer.status, answer.json]).toEqual([400, { code: 'balance_insufficient', error: spent(safe) }])
      }
      accepted.push(await send(safe, call(withdraw)), await send(safe, pay('4')))
    })
    for (const answer of accepted) await succeeded(answer)
    expect(await balanceOf(safe.address)).toBe(0n)
  })

  longTest('only after pending transactions is refused with the reason', async () => {
    const safe = await deployedSafe()
    await chain.fund(safe.address, 10n)
    await give(safe.address, 10n)
    await withoutBlocks(async () => {
      const before = await batch(safe, [{ to: RECIPIENT, value: '10' }, transfer(RECIPIENT, 10n)])
      const { transaction_id: id } = before.json
      const sent = () => sql`select from tests.attempts where transaction_id = ${id} and broadcast_at is not null`
      await until(sent, (rows) => rows.length === 1)
      const poor = await send(safe, { to: RECIPIENT, value: '1' })
      expect(poor.json).toEqual({ code: 'balance_insufficient', error: spent(safe) })
      const tokenless = await send(safe, transfer(RECIPIENT, 1n))
      expect(tokenless.json).toEqual({
        code: 'execution_reverted',
        error: `execution reverted: ERC20InsufficientBalance(sender: ${safe.address}, balance: 0, needed: 1)`,
      })
      const signed = await post('/transactions/sign', safe, { to: RECIPIENT, value: '1' })
      expect(signed.json).toEqual(poor.json)
    })
    await chain.fund(safe.address)
    await give(safe.address, 10n)
    await withoutBlocks(async () => {
      await takenOutside(safe, 10n)
      const { json } = await send(safe, transfer(RECIPIENT, 1n))
      expect([json.code, json.error]).toEqual([
        'execution_reverted',
        'execution reverted: GS013: the calls of the contract wallet fail after its pending transactions, or for lack of gas',
      ])
    })
  })

  longTest('when it is mined fails the whole transaction, with the reason', async () => {
    const safe = await deployedSafe()
    await give(safe.address, 10n)
    let id = ''
    await withoutBlocks(async () => {
      const answer = await send(safe, transfer(RECIPIENT, 10n))
      id = answer.json.transaction_id
      // These coins are gone when it is mined.
      await takenOutside(safe, 10n)
    })
    const { json } = await service.settled(id)
    expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(json.error).toMatch(/^The transaction was mined, and its execution reverted: execution reverted: .+/)
  })

  longTest(
    'with words in which nodes say that a sender lacks coins is told with these words, mined or not',
    async () => {
      const safe = await deployedSafe()
      const coin = await chain.deploy('WrappedCoin')
      const call = (functionName: string, args: readonly unknown[], value = '0') => ({
        to: coin.address,
        value,
        input: encodeFunctionData({ abi: coin.abi, functionName, args }),
      })
      expect((await send(safe, call('withdraw', [4n]))).json).toEqual({
        code: 'execution_reverted',
        error: 'execution reverted: Insufficient balance',
      })
      await succeeded(await send(safe, call('deposit', [], '4')))
      let id = ''
      await withoutBlocks(async () => {
        id = (await send(safe, call('withdraw', [4n]))).json.transaction_id
        await chain.rpc('anvil_impersonateAccount', [safe.address])
        const { to, input: data } = call('withdraw', [4n])
        await chain.rpc('eth_sendTransaction', [{ ...{ from: safe.address, to, data, gas: '0x30d40' }, ...RUSHED }])
      })
      const { json } = await service.settled(id)
      expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
      expect(json.error).toBe(
        'The transaction was mined, and its execution reverted: execution reverted: Insufficient balance',
      )
    },
  )

  longTest('because the wallet was changed before mining fails the whole transaction, with that reason', async () => {
    const safe = await deployedSafe()
    let id = ''
    await withoutBlocks(async () => {
      id = (await send(safe, { to: RECIPIENT, value: '1' })).json.transaction_id
      const abi = parseAbi(['function swapOwner(address prevOwner, address oldOwner, address newOwner)'])
      const args = ['0x0000000000000000000000000000000000000001', safe.owner, RECIPIENT] as const
      await chain.rpc('anvil_impersonateAccount', [safe.address])
      const data = encodeFunctionData({ abi, functionName: 'swapOwner', args })
      await chain.rpc('eth_sendTransaction', [
        { ...{ from: safe.address, to: safe.address, data, gas: '0x30d40' }, ...RUSHED },
      ])
    })
    const { json } = await service.settled(id)
    expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(json.error).toContain(`the contract wallet no longer obeys its key alone: its owner is ${RECIPIENT}`)
  })

  longTest('does not happen when somebody else deploys the wallet meanwhile: each call takes effect once', async () => {
    const safe = await fundedSafe()
    const before = await balanceOf(RECIPIENT)
    let answers: readonly Answer[] = []
    await withoutBlocks(async () => {
      answers = await Promise.all([1, 2, 3].map((value) => send(safe, { to: RECIPIENT, value: String(value) })))
      const [deployment] = await sql<{ input: Hex; to: Address }[]>`
        select input, "to" from transactions where contract_wallet = ${safe.address} and kind = 'deployment'`
      if (deployment === undefined) throw new Error('no deployment is recorded')
      const { to, input } = deployment
      await chain.walletClient.sendTransaction({
        to,
        data: input,
        gas: 1_000_000n,
        maxPriorityFeePerGas: 10n ** 11n,
        maxFeePerGas: 10n ** 12n,
      })
    })
    for (const answer of answers) await succeeded(answer)
    expect(await balanceOf(RECIPIENT)).toBe(before + 6n)
    const [deployment] = await recordedFor(safe)
    expect(deployment).toMatchObject({ kind: 'deployment', status: 'failed', error_code: 'execution_reverted' })
  })

  longTest(
    'because its deployment is given up waits until then and fails with that reason; the next one deploys again',
    async () => {
      const safe = await fundedSafe()
      const before = await balanceOf(RECIPIENT)
      let next = ''
      await withoutBlocks(async () => {
        for (const value of ['1', '2']) expect((await send(safe, { to: RECIPIENT, value })).status).toBe(200)
        const [deployment] = await recordedFor(safe)
        if (deployment === undefined) throw new Error('no deployment is recorded')
        const errors = () => sql<{ last_error: string }[]>`
        select last_error from tests.attempts join transactions t on t.id = transaction_id
        where contract_wallet = ${safe.address} and last_error like '%deployed%'`
        await until(errors, (rows) => rows.length === 2)
        await cancelTransaction(service.ctx, { id: deployment.id, actor: 'operator', reach: null })
        await until(
          () => sql`select from transactions t join tests.attempts on transaction_id = id
          where id = ${deployment.id} and attempts.kind = 'cancel' and attempts.broadcast_at is not null`,
          (rows) => rows.length === 1,
        )
        // Its own deployment comes after the transactions that wait for the first one.
        next = (await send(safe, { to: RECIPIENT, value: '4' })).json.transaction_id
      })
      await chain.mine(4)
      const ends = await until(
        async () => {
          await chain.mine()
          return recordedFor(safe)
        },
        (rows) => rows.every(({ status }) => status === 'failed' || status === 'success'),
      )
      expect(ends.map(({ kind, error_code }) => [kind, error_code])).toEqual([
        ['deployment', 'expired'],
        ['send', 'contract_wallet_not_deployed'],
        ['send', 'contract_wallet_not_deployed'],
        ['deployment', null],
        ['send', null],
      ])
      expect(ends.at(-1)).toMatchObject({ id: next, status: 'success' })
      expect(await balanceOf(RECIPIENT)).toBe(before + 4n)
    },
    60_000,
  )
})

describe('a transaction that is signed and not sent', () => {
  const statusByHash = async (hash: Hex) =>
    (await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })).json.status

  test('has failed if its inner call fails, even if the receipt is a success', async () => {
    const safe = await fundedSafe()
    const { json: raw } = await post('/transactions/sign', safe, { to: RECIPIENT, value: '7' })
    await chain.fund(safe.address, 0n)
    const hash = await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
    expect((await chain.receiptOf(hash)).status).toBe('success')
    expect(await statusByHash(hash)).toBe('failed')
  })

  longTest('also deploys a wallet without code', async () => {
    const safe = await fundedSafe()
    const before = await balanceOf(RECIPIENT)
    const { json: raw } = await post('/transactions/sign', safe, { to: RECIPIENT, value: '7' })
    expect([...(await recordedFor(safe))]).toEqual([])
    const hash = await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
    expect((await chain.receiptOf(hash)).status).toBe('success')
    expect(await statusByHash(hash)).toBe('success')
    expect(await balanceOf(RECIPIENT)).toBe(before + 7n)
    expect(await codeAt(safe.address)).toBeDefined()
    // Its signature is used up, and the wallet keeps working.
    await succeeded(await send(safe, { to: RECIPIENT, value: '1' }))
  })

  longTest('is an execution for a wallet with code, with or without fixed fields', async () => {
    const safe = await deployedSafe()
    const before = await balanceOf(RECIPIENT)
    const nonce = await chain.publicClient.getTransactionCount({ address: safe.owner })
    const fixed = {
      gasLimit: '150000',
      maxFeePerGas: '20000000000',
      maxPriorityFeePerGas: '1000000000',
      nonce: String(nonce + 1),
    }
    const raws = [
      await post('/transactions/sign', safe, { to: RECIPIENT, value: '7' }),
      await post('/transactions/sign', safe, { to: RECIPIENT, value: '8', ...fixed }),
    ]
    for (const { json: raw } of raws) {
      const hash = await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
      expect((await chain.receiptOf(hash)).status).toBe('success')
    }
    expect(await balanceOf(RECIPIENT)).toBe(before + 15n)
  })
})

describe('a key', () => {
  longTest(
    'that owns a Safe in two projects and is an eoa wallet in a third sends for all of them at once',
    async () => {
      const key = generatePrivateKey()
      const clients = [service, await anotherProject(), await anotherProject()]
      const wallets = await Promise.all(
        clients.map(async (client, index) => {
          const body = {
            network,
            control_mode: 'developer',
            developer_secret: SECRET,
            name: 'Shared',
            private_key: key,
          }
          const answer = await client.post('/wallets/import', { ...body, type: index === 2 ? 'eoa' : 'contract' })
          await chain.fund(answer.json.address)
          return answer.json as Wallet
        }),
      )
      expect(wallets[1]?.address).toBe(wallets[0]?.address as Address)
      const before = await balanceOf(RECIPIENT)
      const each = [...clients.entries(), ...clients.entries()].map(([index, client]) => ({ index, client }))
      const answers = await Promise.all(
        each.map(async ({ index, client }) => {
          const body = bodyOf(wallets[index] as Wallet, { to: RECIPIENT, value: '1' })
          const { json } = await client.post('/transactions/sign-and-send', body)
          return json.transaction_id
        }),
      )
      for (const [at, { client, index }] of each.entries()) {
        expect((await client.settled(answers[at])).json.status).toBe('success')
        const stranger = clients[(index + 1) % clients.length] ?? service
        const { status } = await stranger.get('/transactions/status-by-id', { id: answers[at] })
        expect(status).toBe(404)
      }
      expect(await balanceOf(RECIPIENT)).toBe(before + 6n)
      const kinds = (await recordedFor(wallets[0] as Wallet)).map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind === 'deployment')).toHaveLength(1)
    },
  )
})

describe('an event of a called contract', () => {
  longTest('that looks like a Safe creating a contract is not reported as a creation', async () => {
    // LOG2 of ExecutionSuccess with a hash and a payment, LOG2 of ContractCreation with an address.
    const success = '442e715f626346e8c54381002da614f62bee8d27386535b2521ec8540898556e'
    const creation = '4db17dd5e4732fb6da34a148104a592783ca119a1e7bb8829eba6cbadef0b511'
    const liar = '0x00000000000000000000000000000000000e0e01'
    const [logSuccess, logCreation] = [`60007f${success}60206000a2`, `73${RECIPIENT.slice(2)}7f${creation}60006000a2`]
    await chain.testClient.setCode({ address: liar, bytecode: `0x${logSuccess}${logCreation}00` })
    const eoa = await service.newWallet({ network })
    await chain.fund(eoa.address)
    for (const wallet of [eoa, await deployedSafe()]) {
      const answer = await send(wallet, { to: liar, input: '0x01' })
      const hash = await succeeded(answer)
      const { json } = await service.get('/transactions/status-by-id', { id: answer.json.transaction_id })
      expect(json.contract_address).toBeNull()
      expect((await chain.receiptOf(hash as Hex)).logs.length).toBeGreaterThanOrEqual(2)
    }
  })
})

describe('all other actions', () => {
  /** Creates a collection of a wallet. @returns its address */
  const collectionOf = async (safe: Wallet): Promise<Address> => {
    const made = await service.post('/nfts/collections', {
      ...{ network, from: safe.address, developer_secret: SECRET },
      ...{ name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/a.png' },
    })
    await succeeded(made)
    const { json: status } = await service.get('/transactions/status-by-id', { id: made.json.transaction_id })
    return status.contract_address
  }

  test('work with and without code: preview', async () => {
    for (const newOne of someOf([fundedSafe, deployedSafe], 2)) {
      const safe = await newOne()
      await give(safe.address, 100n)
      const { json: preview } = await service.post('/transactions/preview', {
        network,
        from: safe.address,
        unsigned_transaction: transfer(RECIPIENT, 40n),
      })
      expect(preview).toMatchObject({ from: safe.address, function_name: 'transfer', simulation: { success: true } })
      expect(preview.simulation.asset_changes).toMatchObject([
        { from: safe.address, to: RECIPIENT, raw_amount: '40', token: { contract_address: token.address } },
      ])
    }
  }, 60_000)

  longTest(
    'work with and without code: collection, mint',
    async () => {
      for (const newOne of [fundedSafe, deployedSafe]) {
        const safe = await newOne()
        const collection = await collectionOf(safe)
        expect(await codeAt(collection)).toBeDefined()
        const { json: collections } = await service.get('/nfts/collections', { network, wallet_address: safe.address })
        expect(collections).toMatchObject([{ contract_address: collection, name: 'Doors' }])

        const mint = { network, from: safe.address, contract_address: collection, uri: 'ipfs://a' }
        await succeeded(await service.post('/nfts/mint', { ...mint, developer_secret: SECRET }))
      }
    },
    60_000,
  )

  longTest(
    'work with and without code: transfer, activity',
    async () => {
      for (const newOne of [fundedSafe, deployedSafe]) {
        const safe = await newOne()
        await give(safe.address, 100n)
        const contract_address = await collectionOf(safe)
        const from = { network, from: safe.address, developer_secret: SECRET, contract_address }
        const hash = await succeeded(await service.post('/nfts/mint', { ...from, uri: 'ipfs://a' }))
        await succeeded(await service.post('/nfts/transfer', { ...from, recipient: RECIPIENT, token_id: '1' }))
        const listed = await until(
          async () => (await service.get('/activity', { network, wallet_address: safe.address })).json,
          (items) => items.length >= 3 && items.some(({ type }: { type: string }) => type === 'send_nft'),
        )
        expect(listed.filter(({ type }: { type: string }) => type.endsWith('nft'))).toMatchObject([
          { type: 'send_nft', metadata: { token_id: '1' } },
          { type: 'receive_nft', transaction_hash: hash },
        ])
      }
    },
    60_000,
  )

  const SAFE = parseAbi([
    'function addOwnerWithThreshold(address owner, uint256 threshold)',
    'function enableModule(address module)',
  ])
  const changes: readonly [string, Hex, RegExp][] = [
    [
      'an owner',
      encodeFunctionData({ abi: SAFE, functionName: 'addOwnerWithThreshold', args: [RECIPIENT, 1n] }),
      /its owners are 0x/,
    ],
    [
      'a module',
      encodeFunctionData({ abi: SAFE, functionName: 'enableModule', args: [RECIPIENT] }),
      /a module is enabled/,
    ],
  ]
  for (const [changed, input, how] of changes)
    longTest(`a wallet is refused once somebody else has changed ${changed}`, async () => {
      const safe = await deployedSafe()
      const foreign = await chain.deploy('WizardCollection', ['Doors', 'DOOR', safe.address])
      // From outside: by somebody who has the key.
      await succeeded(await send(safe, { to: safe.address, input }))
      const from = { network, from: safe.address, developer_secret: SECRET, contract_address: foreign.address }
      const answers = [
        await send(safe, { to: RECIPIENT, value: '1' }),
        await batch(safe, [{ to: RECIPIENT, value: '1' }]),
        await post('/transactions/sign', safe, { to: RECIPIENT, value: '1' }),
        await service.post('/transactions/sign-message', {
          network,
          signer_wallet_address: safe.address,
          message: 'a',
          developer_secret: SECRET,
        }),
        await service.post('/nfts/mint', { ...from, uri: 'ipfs://a' }),
      ]
      for (const answer of answers) {
        expect([answer.status, answer.json.code]).toEqual([409, 'contract_wallet_changed'])
        expect(answer.json.error).toMatch(how)
      }
    })
})
