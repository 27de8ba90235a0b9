// What commands ask at a terminal.

import { describe, expect, test } from 'bun:test'
import { createProject } from '../../src/operators/projects.ts'
import { runCli, terminal } from '../support/cli.ts'
import { someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { keyFile } from '../vault/support.ts'

const SECRET = 'correct horse battery staple'

const nextRootKey = keyFile(new Uint8Array(32).fill(0x92))

afterTests(() => nextRootKey.remove())
const variables = { ENVIRONMENT: 'mainnet', DEVNET: 'false', PUBLIC_BASE_URL: 'https://custody.example.com' }
const service = await shared(startService({ variables, vaultVariables: { ROOT_KEY_NEXT: nextRootKey.spec } }))
const { sql } = service.database

describe('project activate', () => {
  test('asks for the secret, and does not show it', async () => {
    const { projectId, apiKey } = await createProject(service.ctx, { name: 'Mainnet', actor: 'operator' })
    const done = await runCli(['project', 'activate', projectId], service.variables, terminal(`${SECRET}\n`))
    expect(done).toEqual({
      exitCode: 0,
      output: 'The project is active. Keep the secret: nobody can recover it.\n',
      errors: 'developer secret: \n',
    })
    const wallet = { network: 'Polkadot', name: 'W', control_mode: 'developer', developer_secret: SECRET }
    expect((await service.as({ projectId, apiKey }).post('/wallets', wallet)).status).toBe(200)
  })
})

describe('keys rotate-root', () => {
  const ASKED = '0 vault processes running, 0 without the next root key.\nRotate the root key now? Type "yes": '
  const rotate = (typed: string) => runCli(['keys', 'rotate-root'], service.variables, terminal(typed))

  const belongsTo = async () => [
    ...(await sql`select root_key_id from deployment`),
    ...(await sql`select * from project_keys order by project_id`),
  ]

  const REFUSALS = [
    ['no', 'no\n'],
    ['nothing', '\n'],
    ['y', 'y\n'],
    ['yes and more', 'yes, please\n'],
    ['the end of the input', ''],
  ] as const

  test.each(someOf(REFUSALS, 2))('does nothing if the answer is %s', async (_what, typed) => {
    const before = await belongsTo()
    expect(await rotate(typed)).toEqual({ exitCode: 1, output: '', errors: `${ASKED}Nothing was done.\n` })
    expect(await belongsTo()).toEqual(before)
  })

  test('rotates the root key if the answer is yes', async () => {
    const { exitCode, output, errors } = await rotate('yes\n')
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: expect.stringContaining(ASKED) })
    expect(output).toStartWith('The database belongs to ')
  })
})
