// @polkadot/api with a wallet of the service, on a real runtime: a transfer, a call of another pallet and a signature.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ApiPromise, WsProvider } from '@polkadot/api'
import type { SubmittableExtrinsic } from '@polkadot/api/types'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import { stringToHex, u8aToHex, u8aWrapBytes } from '@polkadot/util'
import { decodeAddress, signatureVerify, sr25519Verify } from '@polkadot/util-crypto'
import { createClient } from '../../client/src/client.ts'
import { toSigner } from '../../client/src/polkadot.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'

const network = 'Polkadot'

let chain: TestSubstrateChain
let service: Service
let api: ApiPromise
let address: string
let signer: ReturnType<typeof toSigner>

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  const { projectId, apiKey } = service.project
  const client = createClient({ baseUrl: service.baseUrl, projectId, apiKey })
  const credential = { developer_secret: 'testnet-secret' }
  address = (await client.wallets.create({ network, name: 'A', control_mode: 'developer', ...credential })).address
  await chain.fund(address)
  signer = toSigner({ client, network, address, credential })
  api = await ApiPromise.create({ provider: new WsProvider(chain.wsUrl) as ProviderInterface, noInitWarn: true })
})
afterAll(async () => {
  await api?.disconnect()
  await service.close()
  await chain.stop()
})

/** The wallet of a service that answers each payload as if the metadata were not pinned. */
const unpinnedSigner = () => {
  const refusing = async (input: string, init: RequestInit) =>
    input.endsWith('/transactions/sign-payload')
      ? Response.json({ error: 'Field "payload.mode" must be 1.', code: 'metadata_untrusted' }, { status: 503 })
      : fetch(input, init)
  const { projectId, apiKey } = service.project
  const client = createClient({ baseUrl: service.baseUrl, projectId, apiKey, fetch: refusing })
  return toSigner({ client, network, address, credential: { developer_secret: 'testnet-secret' } })
}

/** Signs and sends a call. @returns the names of its events, once it is in a block */
const send = async (call: SubmittableExtrinsic<'promise'>, options = {}): Promise<readonly string[]> => {
  const done = Promise.withResolvers<readonly string[]>()
  const unsubscribe = await call.signAndSend(address, { signer, ...options }, (result) => {
    // Once it is final, @polkadot/api no longer reads the events for the notice that it is in a block.
    if (result.isInBlock || result.isFinalized)
      done.resolve(result.events.map(({ event }) => `${event.section}.${event.method}`))
    if (result.isError) done.reject(new Error(result.status.type))
  })
  try {
    return await done.promise
  } finally {
    unsubscribe()
  }
}

test('sends a coin', async () => {
  const { address: bob } = await devAccount('Bob')
  const freeOf = async () => {
    const account = await api.query.system?.account?.(bob)
    const { data } = JSON.parse(JSON.stringify(account))
    return BigInt(data.free)
  }
  const before = await freeOf()
  const call = api.tx.balances?.transferKeepAlive?.(bob, 70_000_000_000n)
  if (call === undefined) throw new Error('the runtime has pallet Balances')
  expect(await send(call)).toContain('balances.Transfer')
  expect((await freeOf()) - before).toBe(70_000_000_000n)
})

const remark = () => {
  const call = api.tx.system?.remarkWithEvent?.('hello')
  if (call === undefined) throw new Error('the runtime has pallet System')
  return call
}

const EXTRINSICS = [
  ['mortal for 8 blocks, with a tip', { era: 8, tip: 5 }],
  ['immortal', { era: 0 }],
  ['one that the dapp lets be changed', { withSignedTransaction: true, era: 8 }],
] as const

test.each(someOf(EXTRINSICS, 3))('calls another pallet by an extrinsic: %s', async (_, options) => {
  const call = remark()
  expect(await send(call, options)).toContain('system.Remarked')
  const { era, tip } = { tip: 0, ...options }
  expect([call.tip.toNumber(), call.era.isImmortalEra]).toEqual([tip, era === 0])
  if (era !== 0) expect(call.era.asMortalEra.period.toNumber()).toBe(era)
})

const signRaw = (payload: { address: string; data: string; type?: 'bytes' | 'payload' }) => {
  // SignerPayloadRaw has a type; dapps in JavaScript leave it out.
  const signed = signer.signRaw?.(payload as Parameters<NonNullable<typeof signer.signRaw>>[0])
  if (signed === undefined) throw new Error('the signer signs bytes')
  return signed
}

const BYTES = [
  ['a text', 'hello'],
  ['a text of other letters', 'Grüße 🎉'],
  ['hex', stringToHex('hello')],
  ['hex in capitals', '0xABCDEF'],
  ['an odd number of digits, which is a text', '0xabc'],
  ['nothing', '0x'],
  ['an extrinsic of 300 bytes', u8aToHex(new Uint8Array(300).fill(4))],
  ['a text that is wrapped', '<Bytes>hello</Bytes>'],
  ['hex that is wrapped', u8aToHex(u8aWrapBytes('hello'))],
  ['hex in capitals that is wrapped', u8aToHex(u8aWrapBytes('hello')).toUpperCase().replace('0X', '0x')],
  ['a text that is wrapped twice', '<Bytes><Bytes>hello</Bytes></Bytes>'],
] as const

test.each(someOf(BYTES, 4))('signs %s as polkadot-js does: wrapped once, whatever the type', async (_, data) => {
  const wrapped = u8aWrapBytes(data)
  for (const type of [{ type: 'bytes' }, { type: 'payload' }, {}] as const) {
    const { signature } = await signRaw({ address, data, ...type })
    expect(signatureVerify(wrapped, signature, address).isValid).toBe(true)
    expect(sr25519Verify(wrapped, `0x${signature.slice(-128)}`, decodeAddress(address))).toBe(true)
  }
})

test('signs no bytes for another account', async () => {
  const { address: other } = await devAccount('Bob')
  await expect(signRaw({ address: other, data: '0x00', type: 'bytes' })).rejects.toThrow('not this wallet')
})

longTest("logs in with a message of Talisman's siws, which signs a text as a payload", async () => {
  const { nonce } = (await service.post('/users/login-with-wallet', { sign_in_wallet: address })).json
  // As `prepareMessage` of @talismn/siws 0.0.19 writes it, and as its `sign` asks for the signature.
  const message = [
    'app.example.com wants you to sign in with your Substrate account:',
    address,
    '',
    'Sign in to the app.',
    '',
    'URI: https://app.example.com',
    'Version: 1.0.0',
    `Nonce: ${nonce}`,
    `Issued At: ${new Date().toISOString()}`,
  ].join('\n')
  const { signature } = await signRaw({ address, data: message, type: 'payload' })
  await addOrigins(service.ctx, { projectId: service.project.projectId, origins: ['https://app.example.com'] })
  const answer = await service.post('/users/verify-login', { siwe_message: message, signature, user_id: null })
  expect([answer.status, typeof answer.json.access_token]).toEqual([200, 'string'])
})

test('lets the service make the extrinsic where the metadata is not pinned, if the dapp allows it', async () => {
  const options = { signer: unpinnedSigner(), withSignedTransaction: true, era: 8, tip: 5 }
  expect(await send(remark(), options)).toContain('system.Remarked')
  const nonce = (await api.rpc.system.accountNextIndex(address)).toNumber()
  const made = await remark().signAsync(address, options)
  expect([made.method.toHex(), made.tip.toNumber(), made.nonce.toNumber()]).toEqual([remark().method.toHex(), 5, nonce])
  expect(made.era.asMortalEra.period.toNumber()).toBe(8)
  for (const other of [{ era: 0 }, { assetId: 1984 }])
    await expect(remark().signAsync(address, { ...options, ...other })).rejects.toThrow('Without pinned metadata')
  const unchanged = remark().signAsync(address, { ...options, withSignedTransaction: false })
  await expect(unchanged).rejects.toMatchObject({ code: 'metadata_untrusted' })
})

test('refuses another account, and says which field of a payload is wrong', async () => {
  const payload = await new Promise<Parameters<NonNullable<typeof signer.signPayload>>[0]>((resolve, reject) => {
    const signPayload = async (shown: Parameters<NonNullable<typeof signer.signPayload>>[0]) => {
      resolve(shown)
      return { id: 1, signature: `0x01${'00'.repeat(64)}` as const }
    }
    remark().signAsync(address, { signer: { signPayload } }).catch(reject)
  })
  const { address: other } = await devAccount('Bob')
  await expect(signer.signPayload?.({ ...payload, address: other })).rejects.toThrow('not this wallet')
  const wrong = signer.signPayload?.({ ...payload, genesisHash: payload.blockHash })
  await expect(wrong).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining('genesisHash') })
})
