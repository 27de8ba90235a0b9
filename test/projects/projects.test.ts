import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createProject } from '../../src/operators/projects.ts'
import { EVM_NETWORKS } from '../../src/platform/networks.ts'
import { startChain } from '../support/chains.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const NOWHERE = 'http://127.0.0.1:1'
const SECRET = 'testnet-secret'

const chain = await shared(startChain('Ethereum'))
const service = await shared(
  startService({
    rpcUrls: { ...Object.fromEntries(EVM_NETWORKS.map((network) => [network, NOWHERE])), Ethereum: chain.rpcUrl },
  }),
)
const { sql } = service.database

const create = (name: string) => createProject(service.ctx, { name, actor: 'operator' })

describe('a new project', () => {
  test('has its own wallet with one address on every network, controlled by the developer', async () => {
    const project = await create('  My product  ')
    const client = service.as(project)
    const wallets = await Promise.all(
      EVM_NETWORKS.map((network) => client.get('/wallets/get-by-owner-id', { network, ownerID: project.projectId })),
    )
    expect(wallets.map((answer) => answer.status)).toEqual(EVM_NETWORKS.map(() => 200))
    expect(new Set(wallets.map((answer) => answer.json.address)).size).toBe(1)
    const [row] = await sql<{ name: string }[]>`select name from projects where id = ${project.projectId}`
    expect(row?.name).toBe('My product')
  })

  test('has an API key that is stored only as a hash, and an audit row with its creator', async () => {
    const project = await create('Keys')
    expect(project.apiKey).toMatch(/^sk_[A-Za-z0-9_-]{43}$/)
    const keys = await sql<{ hash: Buffer }[]>`select hash from api_keys where project_id = ${project.projectId}`
    expect(keys.map(({ hash }) => hash.toString('hex'))).toEqual([
      createHash('sha256').update(project.apiKey).digest('hex'),
    ])
    const acts = await sql<{ action: string; actor: string }[]>`
      select distinct action, actor from audit where project_id = ${project.projectId} order by action`
    expect(acts.map(({ action }) => action)).toEqual(['api_key_created', 'project_created', 'wallet_created'])
    expect(new Set(acts.map(({ actor }) => actor))).toEqual(new Set(['operator']))
  })

  test('needs a name of an allowed length', async () => {
    const [before] = await sql`select count(*) from projects`
    for (const name of ['', '   ', 'x'.repeat(257)]) {
      expect(create(name)).rejects.toMatchObject({ code: 'invalid_input' })
    }
    expect((await sql`select count(*) from projects`)[0]).toEqual(before)
  })
})

describe('the project wallet', () => {
  test('is created once, by the first request with the secret, if it is missing', async () => {
    const project = await create('Later')
    const client = service.as(project)
    const found = () => client.get('/wallets/get-by-owner-id', { network: 'Ethereum', ownerID: project.projectId })
    const { address } = (await found()).json
    // As for a network that is added after the project.
    await sql`delete from wallet_keys where wallet_id in (
      select id from wallets where project_id = ${project.projectId} and network = 'Ethereum')`
    await sql`delete from wallets where project_id = ${project.projectId} and network = 'Ethereum'`
    expect((await found()).status).toBe(404)
    const collection = { network: 'Ethereum', name: 'N', symbol: 'S', image_url: 'ipfs://x' }
    const refused = await client.post('/nfts/collections', { ...collection, developer_secret: 'wrong' })
    expect(refused.json.code).toBe('INVALID_SECRET')
    expect((await found()).status).toBe(404)
    await chain.fund(address)
    const created = await Promise.all(
      [1, 2].map(() => client.post('/nfts/collections', { ...collection, developer_secret: SECRET })),
    )
    expect(created.map((answer) => answer.status)).toEqual([200, 200])
    expect((await found()).json).toMatchObject({ address, owner_id: project.projectId })
  })
})

describe('origins', () => {
  const add = (projectId: string, origins: readonly string[]) => addOrigins(service.ctx, { projectId, origins })

  test('must be a scheme and a host, and nothing else', async () => {
    for (const origin of [
      'https://a.example/',
      'https://a.example/x',
      'a.example',
      '*',
      'null',
      '',
      'https://A.example',
    ]) {
      expect(add(service.project.projectId, [origin])).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })

  test('need an existing project', async () => {
    for (const projectId of [crypto.randomUUID(), 'no-uuid', '']) {
      expect(add(projectId, [])).rejects.toMatchObject({ code: 'not_found' })
    }
  })
})
