// What a user can reach: everything of their own, and nothing else of the project. Anything else is answered as not
// found.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import { somePayload } from '../transactions/payloads.ts'
import { mail } from '../typed-data/data.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const PASSKEY_SECRET = 'w1JZcnJ4u9fPUdhGzBSbFRGQxM5s1sH1FSxvZJmE0bI'
const NOBODY = '0x00000000000000000000000000000000000000aa'
const RECIPIENT = fundedAccount(5).address

type User = Awaited<ReturnType<typeof newUser>>

const policyFor = (wallet_address: string) => ({
  network,
  wallet_address,
  argument_rules: [{ argument: 'value', operator: 'le', value: '0' }],
  developer_secret: SECRET,
  user_pin: PIN,
})

const proposalFor = (wallet: string) => {
  const { developer_secret: _secret, user_pin: _pin, ...proposal } = policyFor(wallet)
  return proposal
}

const newUser = async () => {
  const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
  const as = service.as({ projectId: service.project.projectId, apiKey: session.access_token })
  return { id: session.user_id as string, token: session.access_token as string, ...as }
}

const newWallet = async (user: Pick<User, 'post'>) =>
  (await user.post('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json

const { chain, service } = await commonWorld()
const { sql } = service.database
await shared(startWorkerHere(service))
/** A token of nobody. */
const token = (await chain.deploy('TestToken', ['Test', 'TST', 6])).address
const anna = await newUser()
const boris = await newUser()
await chain.fund((await newWallet(anna)).address)
const wallet = await newWallet(boris)
await chain.fund(wallet.address)
const made = await boris.post('/nfts/collections', {
  network,
  name: 'Boris',
  symbol: 'B',
  image_url: 'ipfs://image',
  user_pin: PIN,
})
const done = (await boris.settled(made.json.transaction_id)).json
const mint = { network, contract_address: done.contract_address, uri: 'ipfs://one', user_pin: PIN }
await boris.settled((await boris.post('/nfts/mint', mint)).json.transaction_id)
const policy = (await boris.post('/policies', policyFor(wallet.address))).json
/** Ids of what Boris and the project own, by their names in paths. */
const theirs: Record<'wallet' | 'walletId' | 'transaction' | 'hash' | 'collection' | 'policy' | 'owner', string> = {
  wallet: wallet.address,
  walletId: wallet.id,
  transaction: made.json.transaction_id,
  hash: done.transaction_hash,
  collection: done.contract_address,
  policy: policy.uuid,
  owner: boris.id,
}

type Things = typeof theirs

/** The same names, with ids that do not exist. */
const nobodys = (): Things => ({
  wallet: NOBODY,
  walletId: randomUUID(),
  transaction: randomUUID(),
  hash: `0x${'12'.repeat(32)}`,
  collection: NOBODY,
  policy: randomUUID(),
  owner: randomUUID(),
})

const unsigned_transaction = { to: RECIPIENT, value: '1' }
const send = (things: Things) => ({
  network,
  signer_wallet_address: things.wallet,
  unsigned_transaction,
  user_pin: PIN,
})
const nft = (things: Things) => ({ network, from: things.wallet, contract_address: things.collection, user_pin: PIN })

/**
 * Every call that names a resource. The answer for another user's resource must equal the answer for an unknown one.
 */
const CALLS: Record<string, (things: Things) => { query?: Record<string, string>; body?: object }> = {
  'GET /wallets/get-by-id': ({ walletId: id }) => ({ query: { network, id } }),
  'GET /wallets/get-by-address': ({ wallet: address }) => ({ query: { network, address } }),
  'GET /wallets/get-by-owner-id': ({ owner: ownerID }) => ({ query: { network, ownerID } }),
  'POST /wallets/change-user-pin': ({ wallet: address }) => ({
    body: { network, address, old_user_pin: PIN, new_user_pin: '604913' },
  }),
  'GET /wallets/user-secrets': ({ wallet: address }) => ({ query: { network, address } }),
  'POST /wallets/recovery-code': ({ wallet: address }) => ({ body: { network, address, user_pin: PIN } }),
  'POST /wallets/recovery-code/remove': ({ wallet: address }) => ({ body: { network, address, user_pin: PIN } }),
  'POST /wallets/passkey-secret': ({ wallet: address }) => ({
    body: { network, address, passkey_id: 'key-1', passkey_secret: PASSKEY_SECRET, user_pin: PIN },
  }),
  'POST /wallets/passkey-secret/remove': ({ wallet: address }) => ({
    body: { network, address, passkey_id: 'key-1', user_pin: PIN },
  }),
  'POST /wallets/export': ({ wallet: address }) => ({ body: { network, address, user_pin: PIN } }),
  'POST /transactions/sign': (things) => ({ body: send(things) }),
  'POST /transactions/sign-and-send': (things) => ({ body: send(things) }),
  'POST /transactions/batch-sign-and-send': ({ wallet }) => ({
    body: { network, signer_wallet_address: wallet, unsigned_transactions: [unsigned_transaction], user_pin: PIN },
  }),
  'POST /transactions/speed-up': ({ transaction: transaction_id }) => ({ body: { transaction_id, user_pin: PIN } }),
  'POST /transactions/cancel': ({ transaction: transaction_id }) => ({ body: { transaction_id } }),
  'POST /transactions/retry': ({ transaction: transaction_id }) => ({ body: { transaction_id } }),
  'GET /transactions': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
  'GET /transactions (from one on)': ({ transaction: before }) => ({ query: { before } }),
  'POST /transactions/sign-message': ({ wallet }) => ({
    body: { network, signer_wallet_address: wallet, message: 'hello', user_pin: PIN },
  }),
  'POST /transactions/sign-payload': ({ wallet }) => ({
    body: { network, signer_wallet_address: wallet, payload: somePayload(wallet), user_pin: PIN },
  }),
  'POST /transactions/sign-authorization': ({ wallet }) => ({
    body: {
      ...{ network, signer_wallet_address: wallet, user_pin: PIN },
      authorization: { contract_address: `0x${'0'.repeat(40)}`, nonce: '0' },
    },
  }),
  'POST /transactions/sign-typed-data': ({ wallet }) => ({
    body: { network, signer_wallet_address: wallet, typed_data: mail({}), user_pin: PIN },
  }),
  // The network defaults to the wallet's own. Here we must not reveal that the wallet exists.
  'POST /transactions/preview': ({ wallet: from }) => ({ body: { from, unsigned_transaction } }),
  'POST /transactions/preview-bundle': ({ wallet: from }) => ({
    body: { from, unsigned_transactions: [unsigned_transaction] },
  }),
  'POST /transactions/preview-typed-data': ({ wallet: signer_wallet_address }) => ({
    body: { signer_wallet_address, typed_data: mail({}) },
  }),
  'GET /transactions/status-by-id': ({ transaction: id }) => ({ query: { id } }),
  'POST /nfts/mint': (things) => ({ body: { ...nft(things), uri: 'ipfs://two' } }),
  'POST /nfts/batch-mint': (things) => ({ body: { ...nft(things), mints: [{ recipient: RECIPIENT }] } }),
  'POST /nfts/transfer': (things) => ({ body: { ...nft(things), recipient: RECIPIENT, token_id: '1' } }),
  'POST /nfts/collections': ({ wallet: from }) => ({
    body: { network, from, name: 'C', symbol: 'C', image_url: 'ipfs://c', user_pin: PIN },
  }),
  'GET /nfts': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
  'GET /nfts (of a collection)': ({ collection }) => ({ query: { network, contract_address: collection } }),
  'GET /nfts/collections': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
  'GET /nfts/collection-by-address': ({ collection }) => ({ query: { contract_address: collection } }),
  'POST /wallets/put-under-policies': ({ wallet: address }) => ({
    body: { network, address, developer_secret: SECRET },
  }),
  'POST /policies': ({ wallet }) => ({ body: policyFor(wallet) }),
  'POST /policies/describe': ({ wallet }) => ({ body: proposalFor(wallet) }),
  'GET /policies/described': ({ policy: uuid }) => ({ query: { uuid } }),
  'GET /policies': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
  'POST /policies/revoke': ({ policy: uuid }) => ({ body: { uuid, user_pin: PIN } }),
  'GET /activity': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
  'POST /tokens': ({ wallet: from }) => ({
    body: { network, from, name: 'T', symbol: 'T', decimals: '6', user_pin: PIN },
  }),
  // Public data of the chain, but for the wallet.
  'POST /tokens/mint': ({ wallet: from }) => ({
    body: { network, from, contract_address: token, amount: '1', user_pin: PIN },
  }),
  'POST /tokens/transfer': ({ wallet: from }) => ({
    body: { network, from, token: 'ETH', recipient: RECIPIENT, amount: '1', user_pin: PIN },
  }),
  'POST /tokens/batch-transfer': ({ wallet: from }) => ({
    body: { network, from, token: 'ETH', transfers: [{ recipient: RECIPIENT, amount: '1' }], user_pin: PIN },
  }),
  'GET /tokens/balances': ({ wallet }) => ({ query: { network, wallet_address: wallet } }),
}

/**
 * Calls that name no resource of a user, or one for its approvers alone (test/approvals/approvals.test.ts), or that
 * return public data of the chain.
 */
const NAMES_NOTHING = new Set([
  'POST /wallets',
  'POST /wallets/import',
  'POST /nfts/upload',
  'GET /wallets',
  'GET /wallets/get-by-network',
  'GET /transactions/status-by-hash',
  'GET /addresses/metadata',
  'GET /tokens/tokens',
  'GET /addresses/lookup-by-name',
  'GET /metadata/{file}',
  'GET /approvals',
  // Of the whole project: for API keys only.
  'GET /events',
  'GET /events/stream',
  'POST /approvals/begin',
  'POST /approvals/decide',
  'GET /webhooks',
  'POST /webhooks',
  'POST /webhooks/update',
  'POST /webhooks/remove',
  'POST /webhooks/rotate',
  'POST /webhooks/test',
  'POST /webhooks/replay',
  'GET /webhooks/deliveries',
])

const called = (user: Pick<User, 'call'>, name: string, things: Things): Promise<Answer> => {
  const [method = '', path = ''] = name.split(' ')
  const { query, body } = CALLS[name]?.(things) ?? {}
  return user.call(query === undefined ? path : `${path}?${new URLSearchParams(query)}`, { method, body })
}

/** All in the long run; the suite tries every fourth of them also as the owner. */
const TRIED_BY_OWNER = new Set(someOf(Object.keys(CALLS), 4))

describe("another user's resource", () => {
  test.each(Object.keys(CALLS))('%s: is answered byte for byte like an unknown one', async (name) => {
    const [other, none] = [await called(anna, name, theirs), await called(anna, name, nobodys())]
    expect([other.status, other.text]).toEqual([none.status, none.text])
    // The resource exists: its owner gets another answer. (A changed PIN would break the tests after this one.)
    if (name === 'POST /wallets/change-user-pin' || !TRIED_BY_OWNER.has(name)) return
    expect((await called(boris, name, theirs)).text).not.toBe(other.text)
  })

  test('the wallet of the project is answered the same way', async () => {
    const [wallet] = (await service.get('/wallets', { network })).json
    for (const name of ['GET /wallets/get-by-address', 'POST /transactions/sign', 'POST /nfts/mint']) {
      const things = { ...theirs, wallet: wallet.address }
      const [other, none] = [await called(anna, name, things), await called(anna, name, nobodys())]
      expect([other.status, other.text]).toEqual([none.status, none.text])
    }
  })

  test('every authenticated route is listed above', async () => {
    const { paths } = (await service.call('/openapi/json')).json
    const operations = Object.entries<Record<string, { security?: unknown[]; tags: string[] }>>(paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods)
          .filter(([, { tags }]) => !['Users', 'Health', 'Operations'].includes(tags[0] ?? ''))
          .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    expect(operations.length).toBeGreaterThan(20)
    expect(operations.filter((each) => !(each in CALLS) && !NAMES_NOTHING.has(each))).toEqual([])
  })

  test('is in no list of transactions', async () => {
    type Item = { readonly transaction_id: string; readonly wallet_address: string }
    const listedFor = async (who: Pick<User, 'get'>): Promise<readonly Item[]> =>
      (await who.get('/transactions', { page_size: '100' })).json
    const own = await listedFor(boris)
    expect(own.map((item) => item.transaction_id)).toContain(theirs.transaction)
    expect(new Set(own.map((item) => item.wallet_address))).toEqual(new Set([theirs.wallet]))
    const annas = await listedFor(anna)
    expect(annas.filter((item) => item.wallet_address === theirs.wallet)).toEqual([])
    const all = new Set((await listedFor(service)).map((item) => item.transaction_id))
    expect([...own, ...annas].filter((item) => !all.has(item.transaction_id))).toEqual([])
  })

  test("a hash of another user's transaction returns the chain's public data", async () => {
    const of = (user: User) => user.get('/transactions/status-by-hash', { network, transaction_hash: theirs.hash })
    const [own, other] = [(await of(boris)).json, (await of(anna)).json]
    expect(other).toEqual({ ...own })
    await sql`update transactions set error = null, contract_address = ${NOBODY} where id = ${theirs.transaction}`
    expect((await of(anna)).json).toEqual(other)
  })
})

describe("a user's own resources", () => {
  test('a new wallet always belongs to the calling user, who has at most one on each network', async () => {
    const user = await newUser()
    const control = { control_mode: 'user', user_pin: PIN }
    const answer = await user.post('/wallets', { network, name: 'Mine', owner_id: boris.id, ...control })
    expect(answer.json.owner_id).toBe(user.id)
    const again = await user.post('/wallets', { network, name: 'Mine', owner_id: randomUUID(), ...control })
    expect([again.status, again.json.code]).toEqual([409, 'wallet_exists'])
    expect((await user.get('/wallets/get-by-network', { network })).json).toEqual(answer.json)
    expect((await user.get('/wallets', { network })).json).toEqual([answer.json])
    const imported = await (await newUser()).post('/wallets/import', {
      network,
      name: 'Imported',
      owner_id: boris.id,
      private_key: `0x${'7d'.repeat(32)}`,
      ...control,
    })
    expect(imported.json.address).toBe(privateKeyToAccount(`0x${'7d'.repeat(32)}`).address)
    expect(imported.json.owner_id).not.toBe(boris.id)
  })

  test('the developer can reach every wallet of the project', async () => {
    const found = await service.get('/wallets/get-by-owner-id', { network, ownerID: boris.id })
    expect(found.json.address).toBe(theirs.wallet)
    const [key, token] = [service, boris].map((who) => who.get('/wallets/get-by-network', { network }))
    expect([(await key)?.status, (await key)?.json.code]).toEqual([403, 'user_session_required'])
    expect((await token)?.json.address).toBe(theirs.wallet)
  })

  longTest("a mint without a named wallet uses the user's wallet, never the wallet of the project", async () => {
    const mint = { network, contract_address: theirs.collection, uri: 'ipfs://three', user_pin: PIN }
    const answer = await boris.post('/nfts/mint', mint)
    expect((await boris.settled(answer.json.transaction_id)).json.status).toBe('success')
    const none = await (await newUser()).post('/nfts/mint', { ...mint, user_pin: undefined, developer_secret: SECRET })
    expect([none.status, none.json.code]).toEqual([404, 'not_found'])
  })

  test('idempotency keys do not collide with those of other users', async () => {
    const [one, two] = [await newUser(), await newUser()]
    const body = { network, name: 'Mine', control_mode: 'user', user_pin: PIN }
    const headers = { 'idempotency-key': 'the same' }
    const [first, second] = [await one.post('/wallets', body, headers), await two.post('/wallets', body, headers)]
    expect([first.json.owner_id, second.json.owner_id]).toEqual([one.id, two.id])
    expect((await one.post('/wallets', body, headers)).json).toEqual(first.json)
  })

  test("the audit records the user's acts under their name", async () => {
    const rows = await sql`select distinct actor from audit where action = 'wallet_created'`
    expect(rows.map((row) => row.actor)).toContain(`user:${anna.id}`)
  })
})
