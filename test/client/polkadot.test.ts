// @polkadot/api with a wallet of the service, on a real runtime: a transfer, a call of another pallet and a signature.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ApiPromise, WsProvider } from '@polkadot/api'
import type { SubmittableExtrinsic } from '@polkadot/api/types'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import { stringToHex, u8aToHex, u8aWrapBytes } from '@polkadot/util'
import { signatureVerify } from '@polkadot/util-crypto'
import { createClient } from '../../client/src/client.ts'
import { toSigner } from '../../client/src/polkadot.ts'
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

/** Signs and sends a call. @returns the names of its events, once it is in a block */
const send = async (call: SubmittableExtrinsic<'promise'>): Promise<readonly string[]> => {
  const done = Promise.withResolvers<readonly string[]>()
  const unsubscribe = await call.signAndSend(address, { signer, withSignedTransaction: true }, (result) => {
    if (result.isInBlock) done.resolve(result.events.map(({ event }) => `${event.section}.${event.method}`))
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

test('calls another pallet, with the nonce and the tip of the call', async () => {
  const call = api.tx.system?.remarkWithEvent?.('hello')
  if (call === undefined) throw new Error('the runtime has pallet System')
  const signed = await call.signAsync(address, { signer, withSignedTransaction: true, tip: 5 })
  expect([signed.method.toHex(), signed.tip.toNumber(), signed.nonce.toNumber()]).toEqual([call.method.toHex(), 5, 1])
  expect(signed.era.isMortalEra).toBe(true)
  expect(await send(call)).toContain('system.Remarked')
})

test('signs bytes, which cannot be an extrinsic', async () => {
  const wrapped = u8aWrapBytes('hello')
  for (const data of [stringToHex('hello'), u8aToHex(wrapped)]) {
    const signature = (await signer.signRaw?.({ address, data, type: 'bytes' }))?.signature ?? '0x'
    expect(signatureVerify(wrapped, signature, address).isValid).toBe(true)
  }
  const { address: other } = await devAccount('Bob')
  await expect(signer.signRaw?.({ address: other, data: '0x00', type: 'bytes' })).rejects.toThrow('not this wallet')
  await expect(signer.signRaw?.({ address, data: '0x00', type: 'payload' })).rejects.toThrow('signPayload')
})

test('refuses what it would have to change', async () => {
  const call = api.tx.system?.remarkWithEvent?.('hello')
  if (call === undefined) throw new Error('the runtime has pallet System')
  await expect(call.signAsync(address, { signer })).rejects.toThrow('withSignedTransaction')
  const immortal = { signer, withSignedTransaction: true, era: 0 }
  await expect(call.signAsync(address, immortal)).rejects.toThrow('immortal')
})
