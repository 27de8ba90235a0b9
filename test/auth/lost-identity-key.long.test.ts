// A deployment that lost its IDENTITY_KEY, and one that found it again: what docs/custody.md and docs/operations.md
// say.

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { runCli } from '../support/cli.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { DONE, peopleOf, statusAndCode } from '../users/people.ts'
import { keyFile } from '../vault/support.ts'

const network = 'Ethereum'
const rpcUrls = { [network]: 'http://127.0.0.1:1' }
const PIN = '493817'
const EMAIL = 'somebody@example.com'
const NOBODY = { authorization: undefined }

/** With another key. */
const endings: (() => unknown)[] = []

const service = await shared(startService({ rpcUrls }))
const { sql } = service.database
const key = keyFile(randomBytes(32))
endings.push(key.remove)
const variables = { ...service.variables, IDENTITY_KEY: key.spec }
const { address } = await service.newWallet({ network, pin: PIN })
afterTests(async () => {
  for (const end of endings.toReversed()) await end()
})

/** By a client of whichever API. */
const sign = async (client: Pick<Service, 'post'>, of = address) => {
  const body = { network, signer_wallet_address: of, message: 'It works.', user_pin: PIN }
  return statusAndCode(await client.post('/transactions/sign-message', body))
}

const logIn = async (at: Service) => {
  const people = peopleOf(at)
  const headers = { ...NOBODY, 'x-walletkit-project-id': service.project.projectId }
  const { user_id } = (await at.post('/users/login-with-email', { email: EMAIL }, headers)).json
  const proof = { user_id, verification_code: await people.codeTo(EMAIL) }
  return at.post('/users/verify-login', proof, headers)
}

const newApiKey = () =>
  runCli(['api-key', 'create', '--project', service.project.projectId, '--name', 'new', '--json'], variables)

const bind = (id: string | null) => sql`update deployment set identity_key_id = ${id}`

test('another key serves nothing of before, and the first one serves all of it again', async () => {
  expect(statusAndCode(await logIn(service))).toEqual(DONE)
  const refused = await newApiKey()
  expect([refused.exitCode, refused.errors]).toEqual([
    1,
    expect.stringMatching(/^The identity key does not fit this database: it is key:[0-9a-f]{16}, and should be key:/),
  ])

  const [was] = await sql<{ id: string }[]>`select identity_key_id as id from deployment`
  await bind(null)
  const database = { ...service.database, close: async () => {} }
  const other = await startService({ rpcUrls, variables, hasVault: false, database })
  endings.push(other.close)
  const { projectId } = service.project
  expect((await other.as(service.project).get('/wallets', { network })).status).toBe(401)
  expect((await logIn(other)).status).toBe(401)
  // A new API key is valid, and does not reach the earlier wallets.
  const { output } = await newApiKey()
  const client = other.as({ projectId, apiKey: JSON.parse(output).api_key })
  expect((await client.get('/wallets', { network })).json).toEqual([])
  expect(await sign(client)).toEqual([500, 'internal'])
  for (const each of [client, other]) {
    const made = await each.newWallet({ network, pin: PIN })
    expect(await sign(each, made.address)).toEqual(DONE)
  }

  // The vault does not use this key: it finds all rows of the vault as it wrote them.
  const verified = await runCli(['audit', 'verify', '--json'], variables)
  const { ok, custody, callers } = JSON.parse(verified.output)
  expect([ok, custody.forged]).toEqual([false, []])
  expect(new Set(callers.forged.map(({ table }: { table: string }) => table))).toEqual(
    new Set(['api_keys', 'projects', 'sessions', 'token_keys', 'users', 'wallets']),
  )

  await bind(was?.id ?? '')
  const again = await startService({ rpcUrls, variables: service.variables, hasVault: false, database })
  endings.push(again.close)
  expect(await sign(again.as(service.project))).toEqual(DONE)
  expect((await logIn(again)).json.user_id).toBe((await logIn(service)).json.user_id)
  // What was made with the other key is not valid now.
  expect((await again.as(other.project).get('/wallets', { network })).status).toBe(401)
})
