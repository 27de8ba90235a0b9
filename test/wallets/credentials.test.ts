// PIN changes and exports over HTTP. The vault's own behaviour is tested in test/vault.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { generatePrivateKey, mnemonicToAccount } from 'viem/accounts'
import { createProject } from '../../src/operators/projects.ts'
import { commonService } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer } from '../support/service.ts'

const PIN = '493817'
const NEW = '604913'
const user = { control_mode: 'user', user_pin: PIN }
const developer = { control_mode: 'developer', developer_secret: 'testnet-secret' }

const service = await commonService()
const { sql } = service.database

const change = (body: Record<string, unknown>) =>
  service.post('/wallets/change-user-pin', {
    network: 'Ethereum',
    old_user_pin: PIN,
    new_user_pin: NEW,
    ...body,
  })
const exported = (body: Record<string, unknown>) => service.post('/wallets/export', { network: 'Ethereum', ...body })

const sign = (wallet: { address: string; network: string }, credential: Record<string, string>) =>
  service.post('/transactions/sign', {
    network: wallet.network,
    signer_wallet_address: wallet.address,
    unsigned_transaction: {
      to: wallet.address,
      gasLimit: '21000',
      nonce: '0',
      maxFeePerGas: '1000000000',
      maxPriorityFeePerGas: '0',
    },
    ...credential,
  })

const guesses = async (ownerId: string) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
  return { ...row }
}

const another = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
/** A wallet of another project, whose answer must be the same as for a missing wallet. */
const foreign = await another.newWallet({ network: 'Ethereum', pin: PIN })

describe('change-user-pin', () => {
  test('succeeds for all of the owner’s wallets', async () => {
    const ownerId = randomUUID()
    const first = await service.newWallet({ network: 'Ethereum', ownerId, pin: PIN })
    const second = await service.newWallet({ network: 'Base', ownerId, pin: PIN })
    const answer = await change({ address: first.address.toLowerCase() })
    expect([answer.status, answer.json]).toEqual([200, { success: true }])
    for (const wallet of [first, second]) {
      expect((await sign(wallet, { user_pin: NEW })).status).toBe(200)
      expect((await sign(wallet, { user_pin: PIN })).json.code).toBe('INVALID_SECRET')
    }
    const made = await service.post('/wallets', { network: 'Polygon', name: 'P', owner_id: ownerId, ...user })
    expect(made.json.code).toBe('INVALID_SECRET')
  })

  longTest('on a wallet of Polkadot changes it for the other networks too', async () => {
    const ownerId = randomUUID()
    const polkadot = await service.newWallet({ network: 'Polkadot', ownerId, pin: PIN })
    const ethereum = await service.newWallet({ network: 'Ethereum', ownerId, pin: PIN })
    expect((await change({ network: 'Polkadot', address: polkadot.address })).status).toBe(200)
    expect((await sign(ethereum, { user_pin: NEW })).status).toBe(200)
  })

  test('refuses a wrong old PIN, and counts it once', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    const answer = await change({ address: wallet.address, old_user_pin: '000000' })
    expect([answer.status, answer.json.code]).toEqual([403, 'INVALID_SECRET'])
    expect(await guesses(wallet.owner_id)).toEqual({ fails: 1, total: 1 })
  })

  longTest('many times at once: one answers 200, the others 409, and nothing is counted', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    let answers: Promise<readonly Answer[]> | undefined
    // All requests continue together once each has proved the old PIN.
    await sql.begin(async (tx) => {
      await tx`select 1 from user_keys where owner_id = ${wallet.owner_id} for update`
      const calls = Array.from({ length: 6 }, (_, index) =>
        change({ address: wallet.address, new_user_pin: `60491${index}` }),
      )
      answers = Promise.all(calls)
      const waiting = () => sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%update "user_keys"%'`
      for (let tries = 0; tries < 1000 && (await waiting()).length < 6; tries += 1) await sleep(10)
    })
    const statuses = ((await answers) ?? []).map(({ status, json }) => json.code ?? status)
    expect(statuses.sort()).toEqual([200, ...Array(5).fill('credential_changed')])
    expect(await guesses(wallet.owner_id)).toEqual({ fails: 0, total: 0 })
  })

  test('refuses a new PIN that is easy to guess, without checking the old one', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    for (const new_user_pin of ['000000', '123456', '311299']) {
      const answer = await change({ address: wallet.address, old_user_pin: '604914', new_user_pin })
      expect([answer.status, answer.json.code]).toEqual([400, 'pin_obvious'])
      expect(answer.json.error).toStartWith('Field "new_user_pin" must be a PIN that is hard to guess: no repetition')
    }
    expect(await guesses(wallet.owner_id)).toEqual({ fails: 0, total: 0 })
  })

  test('refuses a developer’s wallet, an unchanged PIN and a malformed PIN, without checking any PIN', async () => {
    const theirs = await service.newWallet({ network: 'Ethereum' })
    const mine = await service.newWallet({ network: 'Ethereum', pin: PIN })
    const cases = [
      { address: theirs.address },
      { address: mine.address, old_user_pin: '111111', new_user_pin: '111111' },
      { address: mine.address, new_user_pin: PIN },
      { address: mine.address, new_user_pin: '12345' },
      { address: mine.address, new_user_pin: '1234567' },
      { address: mine.address, new_user_pin: '12345a' },
      { address: mine.address, new_user_pin: null },
      { address: mine.address, old_user_pin: null },
      { address: null },
      { address: mine.address, user_pin: PIN },
    ]
    for (const body of cases) {
      const answer = await change(body)
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
      expect(answer.text).not.toContain(PIN)
    }
    expect(await guesses(mine.owner_id)).toEqual({ fails: 0, total: 0 })
  })

  test('answers 404 for a wallet of another project exactly as for a missing one, and counts nothing', async () => {
    const unknown = `0x${'1'.repeat(40)}`
    const [other, none] = [await change({ address: foreign.address }), await change({ address: unknown })]
    expect([other.status, none.status, other.text]).toEqual([404, 404, none.text])
    expect(await guesses(foreign.owner_id)).toEqual({ fails: 0, total: 0 })
  })

  test('says which network an address belongs to', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    const answer = await change({ network: 'Vara', address: wallet.address })
    expect([answer.status, answer.json.code]).toEqual([400, 'network_mismatch'])
  })
})

describe('export', () => {
  test('returns the phrase, and forbids caching', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    const answer = await exported({ address: wallet.address, user_pin: PIN })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(answer.json).sort()).toEqual(['mnemonic_phrase', 'private_key'])
    expect(answer.json.private_key).toBeNull()
    expect(mnemonicToAccount(answer.json.mnemonic_phrase).address).toBe(wallet.address)
  })

  test('returns an imported key in lower case with 0x', async () => {
    const key = generatePrivateKey()
    const private_key = key.slice(2).toUpperCase()
    const body = { network: 'Ethereum', name: 'I', private_key, ...developer }
    const { address } = (await service.post('/wallets/import', body)).json
    const answer = await exported({ address, developer_secret: 'testnet-secret' })
    expect(answer.json).toEqual({ mnemonic_phrase: null, private_key: key })
  })

  test('needs both credentials if control is shared, while each wallet signs with its own', async () => {
    const ownerId = randomUUID()
    const theirs = await service.newWallet({ network: 'Ethereum', ownerId })
    const body = { network: 'Base', name: 'B', owner_id: ownerId, ...developer, ...user }
    const mine = (await service.post('/wallets', body)).json
    const secret = { developer_secret: 'testnet-secret' }
    for (const { network, address } of [theirs, mine]) {
      const refused = await exported({ network, address, user_pin: PIN })
      expect([refused.status, refused.json.code]).toEqual([400, 'credential_required'])
      expect((await exported({ network, address, ...secret })).json.code).toBe('credential_required')
      expect((await exported({ network, address, ...secret, user_pin: PIN })).status).toBe(200)
    }
    expect((await sign(theirs, secret)).status).toBe(200)
    expect((await sign(mine, { user_pin: PIN })).status).toBe(200)
    expect((await sign(mine, secret)).json.code).toBe('credential_required')
  })

  test('refuses wrong credentials, and answers 404 for another project’s wallet exactly as for a missing one', async () => {
    const wallet = await service.newWallet({ network: 'Ethereum', pin: PIN })
    expect((await exported({ address: wallet.address, user_pin: '000000' })).json.code).toBe('INVALID_SECRET')
    expect((await exported({ address: wallet.address })).json.code).toBe('credential_required')
    const [other, none] = [
      await exported({ address: foreign.address, user_pin: PIN }),
      await exported({ address: `0x${'1'.repeat(40)}`, user_pin: PIN }),
    ]
    expect([other.status, none.status, other.text]).toEqual([404, 404, none.text])
    expect(await guesses(foreign.owner_id)).toEqual({ fails: 0, total: 0 })
  })
})

describe('Polkadot and Vara', () => {
  test.each(someOf(['Polkadot', 'Vara'], 2))(
    '%s is served for wallets, and all else answers 501 as before',
    async (network) => {
      const ownerId = randomUUID()
      const wallet = await service.newWallet({ network, ownerId, pin: PIN })
      const { address } = wallet
      const wrong = { user_pin: '000000' }
      const unsigned_transaction = { to: address, value: '1' }
      const answers = [
        await service.post('/transactions/sign', {
          network,
          signer_wallet_address: address,
          unsigned_transaction,
          ...wrong,
        }),
        await service.post('/transactions/sign-and-send', {
          network,
          signer_wallet_address: address,
          unsigned_transaction,
          ...wrong,
        }),
        await service.post('/transactions/preview', { network, from: address, unsigned_transaction }),
        await service.post('/nfts/mint', {
          network,
          from: address,
          contract_address: address,
          uri: 'ipfs://x',
          ...wrong,
        }),
        await service.post('/nfts/transfer', {
          network,
          from: address,
          contract_address: address,
          recipient: address,
          token_id: '1',
          ...wrong,
        }),
        await service.post('/nfts/collections', {
          network,
          from: address,
          name: 'C',
          symbol: 'C',
          image_url: 'https://example.com/c.png',
          ...wrong,
        }),
        await service.get('/nfts', { network, wallet_address: address }),
        await service.get('/activity', { network, wallet_address: address }),
        await service.get('/transactions/status-by-hash', { network, transaction_hash: `0x${'1'.repeat(64)}` }),
      ]
      for (const answer of answers) expect([answer.status, answer.json.code]).toEqual([501, 'not_implemented'])
      expect(await guesses(ownerId)).toEqual({ fails: 0, total: 0 })
    },
  )

  test('a project has its own wallet there too, and an owner has one phrase for all networks', async () => {
    const { projectId } = service.project
    for (const network of ['Polkadot', 'Vara']) {
      expect((await service.get('/wallets/get-by-owner-id', { network, ownerID: projectId })).status).toBe(200)
    }
  })
})
