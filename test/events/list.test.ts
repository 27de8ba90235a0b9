import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { createApiKey, revokeApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createProject } from '../../src/operators/projects.ts'
import { startApiProcess } from '../support/api.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { peopleOf } from '../users/people.ts'

let service: Service
let owner: postgres.Sql

beforeAll(async () => {
  service = await startService()
  owner = postgres(service.database.url, { max: 2, onnotice: () => {} })
})

afterAll(async () => {
  await owner.end()
  await service.close()
})

type Shown = { readonly id: string; readonly type: string; readonly data: Record<string, unknown> }

const newProject = async () => {
  const project = await createProject(service.ctx, { name: 'Another', actor: 'operator' })
  // Of its own wallets.
  await owner`delete from events where project_id = ${project.projectId}`
  return { ...project, client: service.as(project) }
}

const makeUser = async (projectId: string): Promise<string> => {
  const id = randomUUID()
  await owner`insert into users (id, project_id, mac) values (${id}, ${projectId}, '')`
  return id
}

const idsOf = (events: readonly Shown[]) => events.map(({ id }) => id)

describe('GET /events', () => {
  let empty: Awaited<ReturnType<typeof newProject>>
  beforeAll(async () => {
    empty = await newProject()
  })

  test('lists them in order, with the number to continue after', async () => {
    const { projectId, client } = await newProject()
    const users = [await makeUser(projectId), await makeUser(projectId), await makeUser(projectId)]
    const first = await client.get('/events', { limit: '2' })
    expect(first.json).toMatchObject({ next: '2' })
    expect(first.json.events[0]).toEqual({
      id: '1',
      type: 'user.created',
      version: 1,
      created_at: expect.any(String),
      project_id: projectId,
      data: { user_id: users[0] },
    })
    const second = await client.get('/events', { after: '2' })
    expect(second.json.events.map(({ data }: Shown) => data.user_id)).toEqual([users[2]])
    expect((await client.get('/events', { after: '3' })).json).toEqual({ events: [], next: '3' })
  })

  test('shows nothing of another project', async () => {
    const [one, other] = [await newProject(), await newProject()]
    await makeUser(one.projectId)
    expect((await other.client.get('/events')).json).toEqual({ events: [], next: '0' })
  })

  test('filters by type, and goes on after those of other types', async () => {
    const { projectId, client } = await newProject()
    await makeUser(projectId)
    expect((await client.get('/events', { types: 'wallet.created,policy.created' })).json).toEqual({
      events: [],
      next: '1',
    })
    expect(idsOf((await client.get('/events', { types: 'user.created' })).json.events)).toEqual(['1'])
  })

  test.each([
    { after: '-1' },
    { after: '01' },
    { after: 'x' },
    { after: '1' },
    { after: '9223372036854775808' },
    { types: 'user.made' },
    { types: 'user.created,' },
    { limit: '0' },
    { limit: '501' },
    { wait: '31' },
    { wait: '-1' },
    { wait: '1e1' },
  ])('refuses %p', async (query) => {
    const answer = await empty.client.get('/events', query as Record<string, string>)
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
  })

  test('is refused to users', async () => {
    const { access_token } = await peopleOf(service).logIn('anna@example.com')
    const answer = await service.call('/events', { headers: { authorization: `Bearer ${access_token}` } })
    expect([answer.status, answer.json.code]).toEqual([403, 'scope_required'])
  })

  test('says what is no longer kept', async () => {
    const { projectId, client } = await newProject()
    for (let made = 0; made < 3; made += 1) await makeUser(projectId)
    await client.get('/events')
    await owner`delete from events where project_id = ${projectId} and number <= 2`
    await owner`update event_counters set dropped_number = 2 where project_id = ${projectId}`
    const gone = await client.get('/events', { after: '1' })
    expect([gone.status, gone.json.code]).toEqual([410, 'events_gone'])
    expect(idsOf((await client.get('/events', { after: '2' })).json.events)).toEqual(['3'])
    expect(idsOf((await client.get('/events')).json.events)).toEqual(['3'])
  })
})

/** Reads a stream until its text has what is looked for. */
const readUntil = async (response: Response, looksFor: RegExp): Promise<string> => {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (looksFor.test(text)) break
  }
  return text
}

/**
 * A session that listens asks every three seconds whether its server is there; one of a pool asks only before a
 * statement.
 */
const LISTENS = ['listen strongroom_events', 'select 1']

/** Resolves when so many readers wait on the database's channel in any process. */
const listeners = async (atLeast: number): Promise<void> => {
  for (;;) {
    const [row] = await owner`select count(*)::int as n from pg_stat_activity
      where datname = current_database() and query = any(${LISTENS})`
    if (row?.n >= atLeast) return
    await Bun.sleep(20)
  }
}

describe('waiting', () => {
  longTest('is answered by the next event, and a stream has it', async () => {
    const { projectId, apiKey, client } = await newProject()
    const begun = performance.now()
    const waiting = client.get('/events', { wait: '30' })
    const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
    const stream = await fetch(`${service.baseUrl}/events/stream`, { headers })
    await listeners(1)
    // Whoever begins to listen looks again for a second, and would find it without a notification.
    await Bun.sleep(1_500)
    const user = await makeUser(projectId)
    expect(await readUntil(stream, /event: /)).toContain(`"user_id":"${user}"`)
    // Not 15 seconds after its beginning, when a stream reads once more.
    expect(performance.now() - begun).toBeLessThan(14_000)
    const { json } = await waiting
    // Not at the end of the wait, which reads once more.
    expect(performance.now() - begun).toBeLessThan(25_000)
    expect(json.events).toMatchObject([{ id: '1', data: { user_id: user } }])
  })

  longTest('passes over events of other types and of other projects', async () => {
    const [one, other] = [await newProject(), await newProject()]
    const waiting = one.client.get('/events', { wait: '30', types: 'project.changed' })
    await listeners(1)
    await makeUser(one.projectId)
    await makeUser(other.projectId)
    await owner`insert into audit (project_id, at, actor, action, subject, details, mac)
      values (${one.projectId}, now(), 'operator', 'origins_changed', 'x', '{}', '')`
    expect((await waiting).json).toMatchObject({
      events: [{ id: '2', data: { setting: 'allowed_origins' } }],
      next: '2',
    })
  })

  test('ends without an event when its time is over', async () => {
    const { client } = await newProject()
    expect((await client.get('/events', { wait: '1' })).json).toEqual({ events: [], next: '0' })
  })

  test('goes on after the connection to PostgreSQL was lost', async () => {
    const { projectId, client } = await newProject()
    const waiting = client.get('/events', { wait: '30' })
    await listeners(1)
    await owner`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query = any(${LISTENS})`
    const user = await makeUser(projectId)
    expect((await waiting).json.events).toMatchObject([{ data: { user_id: user } }])
  })

  test('has a limit for each project', async () => {
    const { projectId, client } = await newProject()
    const waiting = Array.from({ length: 20 }, () => client.get('/events', { wait: '30' }))
    let refused = await client.get('/events', { wait: '1' })
    while (refused.status === 200) refused = await client.get('/events', { wait: '1' })
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited'])
    expect((await client.get('/events')).status).toBe(200)
    await makeUser(projectId)
    for (const each of waiting) expect((await each).json.events).toHaveLength(1)
    expect((await client.get('/events', { wait: '1' })).status).toBe(200)
  })
})

test('HEAD of a stream is answered at once, with its headers', async () => {
  const { projectId, apiKey } = await newProject()
  const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
  const signal = AbortSignal.timeout(10_000)
  const answer = await fetch(`${service.baseUrl}/events/stream`, { method: 'HEAD', headers, signal })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
})

describe('an API key that is revoked while it waits', () => {
  const newKey = async () => {
    const { projectId } = await newProject()
    const input = { projectId, name: 'read', scopes: ['read'], expiresAt: null, actor: 'operator' } as const
    const { id, text: apiKey } = await createApiKey(service.ctx, input)
    return { projectId, id, apiKey, client: service.as({ projectId, apiKey }) }
  }

  test('gets no later event by a stream', async () => {
    const { projectId, id, apiKey } = await newKey()
    const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
    const stream = await fetch(`${service.baseUrl}/events/stream`, { headers })
    const seen = await makeUser(projectId)
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes(seen)) text += (await reader?.read())?.value ?? ''
    await revokeApiKey(service.ctx, { id, actor: 'operator' })
    const unseen = await makeUser(projectId)
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
    expect([text.includes(seen), text.includes(unseen)]).toEqual([true, false])
  })

  test('gets none by a request that waits', async () => {
    const { projectId, id, client } = await newKey()
    const waiting = client.get('/events', { wait: '30' })
    await listeners(1)
    await revokeApiKey(service.ctx, { id, actor: 'operator' })
    await makeUser(projectId)
    const { status, json } = await waiting
    expect([status, json.code]).toEqual([401, 'unauthorized'])
  })
})

const EVENTS = 30

describe('an API process', () => {
  longTest('that stops answers who waits', async () => {
    const { projectId, client, apiKey } = await newProject()
    const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
    const one = await startApiProcess(service.variables)
    const waiting = fetch(`${one.url}/events?wait=30`, { headers })
    const stream = await fetch(`${one.url}/events`, { headers: { ...headers, accept: 'text/event-stream' } })
    await listeners(1)
    expect(await one.stop()).toBe(0)
    expect(await (await waiting).json()).toEqual({ events: [], next: '0' })
    expect(await stream.text()).toContain('retry: 1000')
    await makeUser(projectId)
    expect(idsOf((await client.get('/events')).json.events)).toEqual(['1'])
  })

  longTest(
    'that is killed while clients wait: they go on at another one, and lose nothing and see nothing twice',
    async () => {
      const { projectId, apiKey } = await newProject()
      const headers = { authorization: `Bearer ${apiKey}`, 'x-walletkit-project-id': projectId }
      const killed = await startApiProcess(service.variables)
      const urls = [killed.url, service.baseUrl]
      const all: string[][] = []
      let breaks = 0
      /** Asks at the first API until it breaks, and then at the other one. */
      const reader = async (ask: (url: string, seen: string[]) => Promise<void>) => {
        const seen: string[] = []
        all.push(seen)
        for (let turn = 0; seen.length < EVENTS; ) {
          await ask(urls[turn] ?? '', seen).catch(() => {
            turn += 1
            breaks += 1
          })
        }
      }
      const polling = reader(async (url, seen) => {
        const answer = await fetch(`${url}/events?wait=30&after=${seen.at(-1) ?? '0'}`, { headers })
        const { events } = (await answer.json()) as { events: Shown[] }
        seen.push(...idsOf(events))
      })
      const streaming = reader(async (url, seen) => {
        const last = seen.at(-1)
        const answer = await fetch(`${url}/events/stream`, {
          headers: { ...headers, ...(last === undefined ? {} : { 'last-event-id': last }) },
        })
        let text = ''
        for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          const parts = (text + chunk).split('\n\n')
          text = parts.pop() ?? ''
          for (const part of parts) if (part.includes('\ndata: ')) seen.push(/^id: (\d+)/.exec(part)?.[1] ?? part)
          if (seen.length >= EVENTS) return
        }
        throw new Error('the stream broke')
      })
      for (let made = 1; made <= EVENTS; made += 1) {
        await makeUser(projectId)
        if (made !== EVENTS / 2) continue
        // Then both wait there for the next one.
        while (all.some((seen) => seen.length < made)) await Bun.sleep(5)
        await killed.kill()
      }
      await Promise.all([polling, streaming])
      const each = Array.from({ length: EVENTS }, (_, index) => String(index + 1))
      expect(all).toEqual([each, each])
      expect(breaks).toBe(2)
    },
  )
})

const STREAMS = [
  ['/events/stream', {}],
  ['/events', { accept: 'text/event-stream' }],
] as const
describe.each(someOf(STREAMS, 2))('a stream at %s', (path, accept) => {
  const open = (project: { projectId: string; apiKey: string }, headers: Record<string, string> = {}) =>
    fetch(service.baseUrl + path, {
      headers: {
        authorization: `Bearer ${project.apiKey}`,
        'x-walletkit-project-id': project.projectId,
        ...accept,
        ...headers,
      },
    })

  test('has what there is and what comes, and continues after Last-Event-ID', async () => {
    const project = await newProject()
    await makeUser(project.projectId)
    const response = await open(project)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    await makeUser(project.projectId)
    const text = await readUntil(response, /id: 2\n/)
    expect(text).toContain('id: 1\nevent: user.created\ndata: {"id":"1","type":"user.created"')
    const later = await readUntil(await open(project, { 'last-event-id': '1' }), /id: 2\n/)
    expect(later).not.toContain('id: 1\n')
    expect(later).toContain('id: 2\nevent: user.created')
  })

  test('is refused like a list', async () => {
    const project = await newProject()
    for (const id of ['x', '7']) {
      const answer = await open(project, { 'last-event-id': id })
      expect(answer.status).toBe(400)
    }
    const input = { projectId: project.projectId, name: 'signs', scopes: ['sign'] as const, expiresAt: null }
    const { text: apiKey } = await createApiKey(service.ctx, { ...input, actor: 'operator' })
    const answer = await open({ ...project, apiKey })
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'scope_required' }])
  })
})
