// An API on Deno 2 in front of a vault on Bun. All processes run on Deno in deno.long.test.ts.

import { expect, test } from 'bun:test'
import { verifyMessage } from 'viem'
import { startApiProcess } from '../support/api.ts'
import { commonService } from '../support/common-service.ts'
import { denoCommand } from '../support/deno.ts'

const network = 'Ethereum'
const PIN = '493817'

const service = await commonService()

test('an API on Deno signs with a PIN, refuses another PIN, serves the login page, and ends with exit code 0', async () => {
  const api = await startApiProcess(service.variables, [...denoCommand(), 'src/main/api.ts'])
  const client = service.as(service.project, api.url)
  const { address } = await service.newWallet({ network, pin: PIN })
  const message = 'Signed on Deno'
  const sign = (user_pin: string) =>
    client.post('/transactions/sign-message', { network, signer_wallet_address: address, message, user_pin })
  const { json } = await sign(PIN)
  expect(await verifyMessage({ address, message, signature: json.signature })).toBe(true)
  expect((await sign('604913')).json.code).toBe('INVALID_SECRET')
  const script = await client.call('/login/client.js')
  expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  expect(await api.stop()).toBe(0)
}, 60_000)
