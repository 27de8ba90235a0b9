// What a developer may do with a user's contract wallet under a policy. A policy judges what the wallet does, not what
// its owner's key signs around that, and it never reaches the wallet's own settings or the key.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import {
  type Address,
  decodeFunctionData,
  type Hex,
  isAddressEqual,
  parseTransaction,
  recoverTransactionAddress,
  slice,
  type TransactionSerialized,
  zeroAddress,
  zeroHash,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { deploymentData, SAFE_ADDRESSES } from '../../src/chains/evm/safe/settings.ts'
import { fundedAccount } from '../support/chains.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import {
  ANYTHING,
  CREATE_PROXY,
  CREATION,
  callOf,
  DENIED,
  DONE,
  detours,
  ENABLE_MODULE,
  EXEC_TRANSACTION,
  itemOf,
  MULTI_SEND,
  network,
  PIN,
  RECIPIENT,
  rule,
  type Safe,
  type SafeWorld,
  SECRET,
  STRANGER,
  seizures,
  startSafeWorld,
  told,
  withinOf,
} from './safe-world.ts'

const ETHEREUM_FEE_CAP = 1_000n * 10n ** 9n
const COIN = 10n ** 18n
const AT_ONCE = 100

let world: SafeWorld

beforeAll(async () => {
  world = await startSafeWorld()
})

afterAll(() => world.close())

describe.each([...(isLong ? ([['without code', 'newSafe']] as const) : []), ['with code', 'newDeployedSafe']] as const)(
  'a policy of a wallet %s',
  (_state, make) => {
    test('judges what the wallet does, for every way to send it', async () => {
      const safe = await world[make]()
      const uuid = await world.policy(safe, [rule('to', 'eq', RECIPIENT), rule('value', 'le', '100')])
      for (const act of world.acts) {
        expect(told(await act(safe, { to: RECIPIENT, value: '101' }))).toEqual(DENIED)
        expect(told(await act(safe, { to: STRANGER, value: '1' }))).toEqual(DENIED)
        expect(told(await act(safe, { to: RECIPIENT.toLowerCase(), value: '100' }))).toEqual(DONE)
      }
      expect(await world.used(uuid)).toEqual([3, '300'])
      const executed = [{ to: RECIPIENT, value: 100n, input: '0x' }]
      expect((await world.recorded(safe)).filter(([kind]) => kind !== 'deployment')).toEqual([
        ['send', executed],
        ['batch', executed],
      ])
    })

    longTest("does not judge what the owner's key signs around it", async () => {
      const safe = await world[make]()
      const { proxyFactory, multiSendCallOnly } = SAFE_ADDRESSES
      for (const to of [safe.address, proxyFactory, multiSendCallOnly]) await world.policy(safe, [rule('to', 'eq', to)])
      // The operator has added these functions, but rules must not match them.
      for (const declaration of [EXEC_TRANSACTION, MULTI_SEND, CREATE_PROXY]) {
        await world.policy(safe, [rule('decodedInput.function', 'eq', itemOf(declaration).name)])
      }
      for (const act of world.acts) expect(told(await act(safe, { to: RECIPIENT, value: '1' }))).toEqual(DENIED)
      expect(told(await world.batch(safe, [{ to: RECIPIENT }, { to: RECIPIENT }]))).toEqual(DENIED)
      expect(await world.recorded(safe)).toEqual([])
    })

    longTest('can allow mint and transfer', async () => {
      const safe = await world[make]()
      const own = await world.chain.deploy('WizardCollection', ['Own', 'OWN', safe.address])
      const held = await world.chain.deploy('WizardCollection', ['Held', 'HELD', fundedAccount(0).address])
      await world.chain.write({ contract: held, functionName: 'safeMint', args: [safe.address, 'ipfs://one'] })
      const from = { network, from: safe.address, developer_secret: SECRET }
      const mint = { ...from, contract_address: own.address, uri: 'ipfs://two' }
      const transfer = { ...from, contract_address: held.address, recipient: RECIPIENT, token_id: '0' }
      const moved = [rule('to', 'eq', held.address), rule('decodedInput.tokenId', 'eq', '0')]
      const transfers = rule('decodedInput.function', 'eq', 'safeTransferFrom(address,address,uint256)')
      await world.policy(safe, [...moved, transfers])
      expect(told(await world.service.post('/nfts/mint', mint))).toEqual(DENIED)
      expect(told(await world.service.post('/nfts/transfer', transfer))).toEqual(DONE)
      const uuid = await world.policy(safe, [
        rule('to', 'eq', own.address),
        rule('decodedInput.function', 'eq', 'safeMint'),
      ])
      expect(told(await world.service.post('/nfts/mint', mint))).toEqual(DONE)
      expect(await world.used(uuid)).toEqual([1, '0'])
      await world.broadcast(safe)
      const ownerOf = (contract: typeof own) =>
        world.chain.publicClient.readContract({ ...contract, functionName: 'ownerOf', args: [0n] })
      expect([await ownerOf(own), await ownerOf(held)]).toEqual([safe.address, RECIPIENT])
    })

    longTest('allows no fee above the cap and no contract creation', async () => {
      const safe = await world[make]()
      await world.policy(safe, ANYTHING)
      const above = String(ETHEREUM_FEE_CAP + 1n)
      for (const act of [world.sign, world.send]) {
        expect(told(await act(safe, { to: RECIPIENT, maxFeePerGas: above }))).toEqual(DENIED)
        expect(told(await act(safe, { to: RECIPIENT, maxPriorityFeePerGas: above, maxFeePerGas: above }))).toEqual(
          DENIED,
        )
        expect(told(await act(safe, { input: CREATION }))).toEqual(DENIED)
      }
      const collection = { network, from: safe.address, name: 'C', symbol: 'C', image_url: 'ipfs://c' }
      expect(told(await world.service.post('/nfts/collections', { ...collection, developer_secret: SECRET }))).toEqual(
        DENIED,
      )
    })

    test('allows no call of the wallet itself, alone or in a batch, but allows a payment to it', async () => {
      const safe = await world[make]()
      await world.policy(safe, ANYTHING)
      const { address } = safe
      const inputs = someOf<Hex>([...seizures(safe), '0x00'], 5)
      await world.allowCalls(safe, inputs)
      for (const input of inputs) {
        expect(told(await world.send(safe, { to: address, input }))).toEqual(DENIED)
        const own = { to: address.toLowerCase(), input }
        for (const calls of [
          [{ to: RECIPIENT }, own],
          [own, own],
        ])
          expect(told(await world.batch(safe, calls))).toEqual(DENIED)
      }
      expect(told(await world.sign(safe, { to: address, input: callOf(ENABLE_MODULE, STRANGER) }))).toEqual(DENIED)
      expect(await world.recorded(safe)).toEqual([])
      expect(told(await world.batch(safe, [{ to: address, value: '1' }, { to: RECIPIENT }]))).toEqual(DONE)
    })

    longTest("allows no message and no export, and does not cover the owner's other wallets", async () => {
      const safe = await world[make]()
      await world.policy(safe, ANYTHING)
      const message = { message: `0x${'00'.repeat(32)}`, message_type: 'bytes' }
      const ofPin = [400, 'credential_required']
      expect(told(await world.post('sign-message', safe, message))).toEqual(ofPin)
      const exported = { network, address: safe.address, developer_secret: SECRET }
      expect(told(await world.service.post('/wallets/export', exported))).toEqual(ofPin)
      // Wallets with the same key: its own address, and the same Safe on another network.
      const polygon = { network: 'Polygon', name: 'P', owner_id: safe.owner_id, control_mode: 'user', user_pin: PIN }
      const { json: eoa } = await world.service.post('/wallets', polygon)
      expect(eoa).toMatchObject({ address: safe.owner })
      const onPolygon = { network: 'Polygon', unsigned_transaction: { to: RECIPIENT } }
      expect(told(await world.post('sign-and-send', eoa, onPolygon))).toEqual(ofPin)
      expect(told(await world.send({ address: safe.owner }, { to: RECIPIENT }))).toEqual([404, 'not_found'])
    })
  },
)

describe('no other way leads to the wallet or its key', () => {
  test("plain calls of Safe's contracts gain nothing", async () => {
    const safe = await world.newDeployedSafe()
    await world.policy(safe, ANYTHING)
    // From the end, each third of them: some can be published, and some fail.
    const calls = someOf(detours(safe).toReversed(), 3)
    const inputs = calls.map(({ input }) => input)
    await world.allowCalls(safe, [...inputs, callOf(ENABLE_MODULE, STRANGER)])
    let published = 0
    for (const call of calls) {
      const signed = await world.sign(safe, call)
      // A call that fails is not signed.
      expect([DONE, [400, 'execution_reverted']]).toContainEqual(told(signed))
      if (signed.status !== 200) continue
      await world.publish(signed.json)
      published += 1
    }
    expect(published).toBeGreaterThan(isLong ? 3 : 1)
    // In a batch, calls come from the wallet by a delegate call; a call that fails is refused before it is sent.
    for (const call of someOf(calls, 2))
      expect([DONE, [400, 'execution_reverted']]).toContainEqual(told(await world.batch(safe, [call, call])))
    expect((await world.recorded(safe)).length).toBeGreaterThan(1)
    await world.broadcast(safe)
    expect(await world.contractWallets.state(safe)).toEqual({ kind: 'ready' })
    const signed = { address: safe.address, hash: zeroHash, signature: '0x' } as const
    expect(await world.chain.publicClient.verifyHash(signed)).toBe(false)
    expect(await world.balanceOf(safe.address)).toBe(1000n * COIN)
    // The owner may do it; then the wallet has changed and the policy cannot be used.
    const enable = { unsigned_transaction: { to: safe.address, input: callOf(ENABLE_MODULE, STRANGER) } }
    const byOwner = await world.post('sign', safe, { ...enable, developer_secret: undefined, user_pin: PIN })
    await world.publish(byOwner.json)
    for (const act of someOf<(typeof world.acts)[number]>(world.acts, 2))
      expect(told(await act(safe, { to: RECIPIENT }))).toEqual([409, 'contract_wallet_changed'])
  })

  test("the owner's key signs only executions of the wallet and cancels, and sends no coins", async () => {
    const safe = await world.newSafe()
    await world.policy(safe, ANYTHING)
    const call = { to: RECIPIENT, value: '1' }
    const signed: Hex = (await world.sign(safe, call)).json
    expect(told(await world.send(safe, call))).toEqual(DONE)
    expect(told(await world.batch(safe, [call, call]))).toEqual(DONE)
    const rows = await world.sql<{ kind: string; raw: Hex }[]>`select a.kind, a.raw from tests.attempts a
      join transactions t on t.id = a.transaction_id where t.contract_wallet = ${safe.address} order by t.nonce, a.rung`
    const { proxyFactory, multiSendCallOnly } = SAFE_ADDRESSES
    const allowed = { rung: [safe.address, proxyFactory], cancel: [safe.owner], sign: [multiSendCallOnly] }
    for (const { kind, raw } of [...rows, { kind: 'sign', raw: signed }]) {
      const { to, value = 0n, data = '0x' } = parseTransaction(raw)
      const targets = allowed[kind as keyof typeof allowed].map((address) => address.toLowerCase())
      expect([targets.includes(to ?? ''), value]).toEqual([true, 0n])
      if (kind === 'cancel') expect(data).toBe('0x')
    }
    expect(rows.filter(({ kind }) => kind === 'cancel')).toHaveLength(3)
  })

  longTest('an eoa wallet of the same key cannot call it either', async () => {
    const key = generatePrivateKey()
    const imported = async (type: string) => {
      const of = { network, name: type, owner_id: randomUUID(), control_mode: 'user', user_pin: PIN }
      return (await world.service.post('/wallets/import', { ...of, type, private_key: key })).json
    }
    const [eoa, contract] = [await imported('eoa'), await imported('contract')]
    expect(eoa.address).toBe(privateKeyToAccount(key).address)
    const safe: Safe = { ...contract, owner: eoa.address }
    await world.chain.fund(safe.owner)
    await world.deploy(safe)
    await world.policy(eoa, ANYTHING)
    await world.allowCalls(eoa, seizures(safe))
    for (const input of seizures(safe)) {
      expect(told(await world.sign(eoa, { to: safe.address.toLowerCase(), input }))).toEqual(DENIED)
      expect(told(await world.send(eoa, { to: safe.address, input }))).toEqual(DENIED)
    }
    expect(told(await world.send(eoa, { to: safe.address, value: '1' }))).toEqual(DONE)
  })
})

describe('a batch', () => {
  test('must match one policy with all of its elements', async () => {
    const safe = await world.newSafe()
    const toRecipient = await world.policy(safe, [rule('to', 'eq', RECIPIENT)])
    const toStranger = await world.policy(safe, [rule('to', 'eq', STRANGER), rule('value', 'le', '1')])
    const [one, other] = [
      { to: RECIPIENT, value: '5' },
      { to: STRANGER, value: '1' },
    ]
    const mixed = [
      [one, other],
      [other, one],
      [one, one, other],
      [other, { ...other, value: '2' }],
    ]
    for (const calls of someOf(mixed, 3)) {
      expect(told(await world.batch(safe, calls))).toEqual(DENIED)
    }
    expect(told(await world.batch(safe, [one, one, one]))).toEqual(DONE)
    expect(told(await world.batch(safe, [other, other]))).toEqual(DONE)
    expect([await world.used(toRecipient), await world.used(toStranger)]).toEqual([
      [1, '15'],
      [1, '2'],
    ])
    expect((await world.recorded(safe)).map(([kind, calls]) => [kind, calls?.length])).toEqual([
      ['deployment', undefined],
      ['batch', 3],
      ['batch', 2],
    ])
  })

  test('counts as one use, and spends the sum of its values', async () => {
    const safe = await world.newDeployedSafe()
    const uuid = await world.policy(safe, ANYTHING, { max_uses: 2, max_total_value: '10' })
    const values = (...each: readonly number[]) => each.map((value) => ({ to: RECIPIENT, value: String(value) }))
    expect(told(await world.batch(safe, values(6, 5)))).toEqual(DENIED)
    expect(told(await world.batch(safe, values(1, 2, 3)))).toEqual(DONE)
    expect(told(await world.batch(safe, values(4, 1)))).toEqual(DENIED)
    expect(told(await world.batch(safe, values(2, 2)))).toEqual(DONE)
    expect(told(await world.batch(safe, values(0)))).toEqual(DENIED)
    expect(await world.used(uuid)).toEqual([2, '10'])
  })

  longTest('is not charged if one of its calls fails', async () => {
    const safe = await world.newDeployedSafe()
    const calls = await world.policy(safe, [rule('decodedInput.function', 'eq', 'enableModule')])
    const failing = [{ to: SAFE_ADDRESSES.singleton, input: callOf(ENABLE_MODULE, STRANGER) }]
    expect(told(await world.batch(safe, failing))).toEqual([400, 'execution_reverted'])
    expect(await world.used(calls)).toEqual([0, '0'])
  })

  longTest('is refused if the sum of its values is too large', async () => {
    const safe = await world.newDeployedSafe()
    await world.policy(safe, ANYTHING)
    const half = 2n ** 255n
    const of = (...each: readonly bigint[]) =>
      world.batch(
        safe,
        each.map((value) => ({ to: RECIPIENT, value: String(value) })),
      )
    expect(told(await of(half, half))).toEqual([400, 'invalid_input'])
    expect(told(await of(2n * half - 1n, 2n * half - 1n, 2n))).toEqual([400, 'invalid_input'])
    expect(told(await of(half, half - 1n))).toEqual([400, 'balance_insufficient'])
  })

  longTest(
    'of many at once on the last use, one succeeds',
    async () => {
      const safe = await world.newSafe()
      const uuid = await world.policy(safe, ANYTHING, { max_uses: 1 })
      const calls = [
        { to: RECIPIENT, value: '1' },
        { to: RECIPIENT, value: '2' },
      ]
      const answers = (await Promise.all(Array.from({ length: AT_ONCE }, () => world.batch(safe, calls)))).map(told)
      expect(answers.filter((answer) => Bun.deepEquals(answer, DONE))).toHaveLength(1)
      expect(answers.filter((answer) => Bun.deepEquals(answer, DENIED))).toHaveLength(AT_ONCE - 1)
      expect(await world.used(uuid)).toEqual([1, '3'])
      // The deployment belongs to the same use.
      const rows = await world.sql`select details->>'kind' as kind, details->>'policy' as policy from audit
      where subject = ${safe.id} and action = 'transaction_submitted' order by id`
      expect(rows.map(({ kind, policy: by }) => [kind, by])).toEqual([
        ['deployment', uuid],
        ['batch', uuid],
      ])
    },
    20_000,
  )

  longTest('is refused at once after its policy is revoked or has expired', async () => {
    const safe = await world.newDeployedSafe()
    const [one, two] = [await world.policy(safe, ANYTHING), await world.policy(safe, ANYTHING)]
    const calls = [
      { to: RECIPIENT, value: '1' },
      { to: RECIPIENT, value: '2' },
    ]
    expect(told(await world.batch(safe, calls))).toEqual(DONE)
    await world.service.post('/policies/revoke', { uuid: one, developer_secret: SECRET })
    await world.sql`update policies set expires_at = now() where id = ${two}`
    expect(told(await world.batch(safe, calls))).toEqual(DENIED)
    await world.service.post('/policies/revoke', { uuid: two, user_pin: PIN })
    expect(told(await world.batch(safe, calls))).toEqual([400, 'credential_required'])
    expect(await world.recorded(safe)).toHaveLength(1)
  })
})

describe('a transaction signed for a wallet that is not deployed', () => {
  const succeeds = (to: Address, data: Hex): Promise<boolean> =>
    world.chain.publicClient.call({ account: STRANGER, to, data }).then(
      () => true,
      () => false,
    )

  test('does what was judged, once, whoever sends it, even after the policy is revoked', async () => {
    const safe = await world.newSafe()
    const uuid = await world.policy(safe, ANYTHING)
    const raw: TransactionSerialized<'eip1559'> = (await world.sign(safe, { to: RECIPIENT, value: '7' })).json
    expect(await world.used(uuid)).toEqual([1, '7'])
    await world.service.post('/policies/revoke', { uuid, user_pin: PIN })
    const { to, value = 0n } = parseTransaction(raw)
    expect([isAddressEqual(to ?? zeroAddress, SAFE_ADDRESSES.multiSendCallOnly), value]).toEqual([true, 0n])
    expect(await recoverTransactionAddress({ serializedTransaction: raw })).toBe(safe.owner)
    const within = withinOf(raw)
    const [judgedTo, judgedValue, data, operation, , ...refunds] =
      decodeFunctionData({ abi: [itemOf(EXEC_TRANSACTION)], data: within }).args ?? []
    expect([judgedTo, judgedValue, data, operation]).toEqual([RECIPIENT, 7n, '0x', 0])
    expect(refunds.slice(0, 4)).toEqual([0n, 0n, zeroAddress, zeroAddress])

    const before = await world.balanceOf(RECIPIENT)
    await world.deploy(safe)
    const { status } = await world.chain.send({ to: safe.address, data: within, account: fundedAccount(6) })
    expect([status, (await world.balanceOf(RECIPIENT)) - before]).toEqual(['success', 7n])
    expect(await succeeds(safe.address, within)).toBe(false)
    // The owner's own transaction with the same nonce can then do nothing.
    expect((await world.publish(raw)).status).toBe('reverted')
    expect([(await world.balanceOf(RECIPIENT)) - before, await world.balanceOf(safe.address)]).toEqual([
      7n,
      1000n * COIN - 7n,
    ])
    expect(await world.contractWallets.state(safe)).toEqual({ kind: 'ready' })
  })

  longTest('works only for its wallet and its network, although the address is the same on all networks', async () => {
    const safe = await world.newSafe()
    await world.policy(safe, ANYTHING)
    const raw: Hex = (await world.sign(safe, { to: RECIPIENT, value: '7' })).json
    const { to, data = '0x' } = parseTransaction(raw)
    const { multiSendCallOnly } = SAFE_ADDRESSES
    expect(to).toBe(multiSendCallOnly.toLowerCase() as Address)
    expect(await succeeds(multiSendCallOnly, data)).toBe(true)
    await world.chain.rpc('anvil_setChainId', [world.chain.chainId + 1])
    try {
      expect(await succeeds(multiSendCallOnly, data)).toBe(false)
      expect(await world.chain.rpc('eth_sendRawTransaction', [raw]).catch(String)).toContain('chain')
    } finally {
      await world.chain.rpc('anvil_setChainId', [world.chain.chainId])
    }
    expect(await succeeds(multiSendCallOnly, data)).toBe(true)
    // Another Safe of the same owner.
    const initializer = decodeFunctionData({ abi: [itemOf(CREATE_PROXY)], data: deploymentData(safe) }).args?.[1]
    const creation = {
      to: SAFE_ADDRESSES.proxyFactory,
      data: callOf(CREATE_PROXY, SAFE_ADDRESSES.singleton, initializer, 1n),
    }
    const { data: answer = '0x' } = await world.chain.publicClient.call(creation)
    await world.chain.send(creation)
    await world.deploy(safe)
    const within = withinOf(raw)
    expect(await succeeds(safe.address, within)).toBe(true)
    const another = slice(answer, 12, 32)
    await world.chain.fund(another)
    expect(await succeeds(another, within)).toBe(false)
  })
})
