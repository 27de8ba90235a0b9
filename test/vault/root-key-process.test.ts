// What an operator sees if a process cannot start. And cloud libraries are loaded only by processes that use them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import { isLeftOut, longTest } from '../support/long.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { programPath } from '../support/programs.ts'
import { AWS_KEY_IDS } from './root-key-services/aws-kms.ts'
import { keyFile } from './support.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const CLOUD_LIBRARIES = ['@aws-sdk', '@smithy', '@google-cloud', 'google-gax', 'google-auth-library', 'protobufjs']

type Variables = Readonly<Record<string, string>>

const run = async (args: readonly string[], env: Variables) => {
  const { PATH = '' } = process.env
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: REPOSITORY,
    env: { PATH, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { stdout, stderr, code: await child.exited }
}

describe('the libraries of cloud providers', () => {
  // Loads all modules of a server, then opens a root key.
  const script = `
    await import('./src/main/contexts.ts')
    const { openRootKey } = await import('./src/vault/rooms/root/root-key.ts')
    await openRootKey(process.argv.at(-1))
    console.log(JSON.stringify(Object.keys(require.cache)))`

  const loaded = async (spec: string, env: Variables = {}): Promise<readonly string[]> => {
    const { stdout } = await run(['-e', script, spec], env)
    const paths: readonly string[] = JSON.parse(stdout)
    expect(paths.some((path) => path.includes('/node_modules/lru-cache/'))).toBe(true)
    return CLOUD_LIBRARIES.filter((name) => paths.some((path) => path.includes(`/node_modules/${name}/`)))
  }

  longTest('are not loaded by a process whose root key is a file', async () => {
    const file = keyFile(new Uint8Array(32).fill(9))
    try {
      expect(await loaded(file.spec)).toEqual([])
    } finally {
      file.remove()
    }
  })

  longTest('are each loaded only for their own key', async () => {
    const env = { AWS_REGION: 'eu-central-1' }
    expect(await loaded(`aws-kms:${AWS_KEY_IDS.first}`, env)).toEqual(['@aws-sdk', '@smithy'])
  })
})

describe('a vault', () => {
  let database: TestDatabase
  let serviceKey: ReturnType<typeof keyFile>

  beforeAll(async () => {
    database = await createDatabase()
    serviceKey = keyFile(new Uint8Array(32).fill(8))
  })
  afterAll(async () => {
    serviceKey.remove()
    await database.close()
  })

  const start = async (variables: Variables) => {
    const env = {
      ENVIRONMENT: 'testnet',
      DATABASE_URL: database.vaultUrl,
      SERVICE_KEY: serviceKey.spec,
      VAULT_SOCKET: '/nowhere',
    }
    const { stderr, code } = await run([programPath('src/main/vault')], { ...env, ...variables })
    expect(code).toBe(1)
    return stderr
  }

  longTest('says that the key service is unreachable, but shows neither its address nor the token', async () => {
    const nobody = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const place = `http://127.0.0.1:${nobody.port}/transit/root`
    await nobody.stop(true)
    const variables = { ROOT_KEY: `vault-transit:${place}`, VAULT_TOKEN: 'hvs.nobody-may-see' }
    expect(await start(variables)).toBe(
      'The vault cannot start: HashiCorp Vault, which holds the root key, cannot be reached, or fails.\n',
    )
  })

  test.skipIf(isLeftOut('what a vault says at its start of a root key that lacks something')).each([
    ['a region', { ROOT_KEY: `aws-kms:${AWS_KEY_IDS.first}` }, 'AWS_REGION must say where it is'],
    ['a token', { ROOT_KEY: 'vault-transit:https://vault.example.com/transit/root' }, 'VAULT_TOKEN must be a token'],
    ['a scheme that is known', { ROOT_KEY: 'keychain:root' }, 'ROOT_KEY must begin with file:, fd:, aws-kms:'],
  ] as const)('says what is missing without %s', async (_what, variables, said) => {
    expect(await start(variables)).toContain(said)
  })
})
