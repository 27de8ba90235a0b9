// Who may connect at a vault's socket, by what the kernel says of the other end. A vault's process:
// peer-users.long.test.ts.

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { getuid, platform } from 'node:process'
import { isMapped, peerUsers } from '../../src/platform/process/libc.ts'
import { doorAtPath } from '../../src/vault/rooms/wire/door.ts'
import { createWire, echo } from '../vault/wire-support.ts'

const OTHER = 65_533
const uid = getuid?.() ?? 0
const wire = createWire()

const onLinux = test.skipIf(platform !== 'linux')

onLinux('a user in the list is served, and another one is refused by its id', async () => {
  const doorFor = async (...uids: readonly number[]) => {
    const path = join(await wire.folder(), 'run', 'vault.sock')
    return wire.server({ path, door: doorAtPath({ path, mode: 0o660, users: await peerUsers(uids) }) })
  }
  const open = await doorFor(OTHER, uid)
  expect(await wire.client(open.path).ask(echo, { text: 'a' })).toEqual({ text: 'a' })
  const taken = await wire.raw(open.path)
  taken.hello()
  taken.send([1, 'secret', {}])
  await taken.over
  expect(open.refusals).toEqual([{ why: 'a method is unknown', name: `uid ${uid}` }])

  const closed = await doorFor(OTHER)
  const stranger = await wire.raw(closed.path)
  stranger.hello()
  await stranger.over
  expect(await stranger.received(0)).toEqual([])
  const why = 'the user of the client is not in VAULT_CLIENT_UIDS'
  expect(closed.refusals).toEqual([{ why, name: `uid ${uid}` }])
  expect(closed.ended).toEqual([])
})

onLinux('a user has no more than their places, and a socket no more than its own', async () => {
  const doorWith = async (bounds: { readonly connectionsMax?: number; readonly ofOneUserMax?: number }) => {
    const path = join(await wire.folder(), 'run', 'vault.sock')
    return wire.server({ path, door: doorAtPath({ path, mode: 0o660, users: await peerUsers(null), ...bounds }) })
  }
  const refusedOne = [
    [await doorWith({ ofOneUserMax: 2 }), { why: 'there are too many connections of one user', name: `uid ${uid}` }],
    [await doorWith({ connectionsMax: 2 }), { why: 'there are too many connections', name: null }],
  ] as const
  for (const [server, refusal] of refusedOne) {
    const [first, second] = [await wire.raw(server.path), await wire.raw(server.path)]
    first.hello()
    await Promise.all([first.received(1), second.received(1)])
    await (await wire.raw(server.path)).over
    expect(server.refusals).toEqual([refusal])
    first.socket.destroy()
    while (server.ended.length === 0) await server.happened()
    expect(await wire.client(server.path).ask(echo, { text: 'a' })).toEqual({ text: 'a' })
    second.socket.destroy()
  }
})

test('users that the process cannot distinguish from others are recognised', () => {
  const all = '         0          0 4294967295\n'
  const some = '         0          0          1\n       998        998          1\n'
  const seen = [0, 998, 1000, 65_534].map((each) => [isMapped(each, all), isMapped(each, some)])
  expect(seen).toEqual([
    [true, true],
    [true, true],
    [true, false],
    [true, false],
  ])
})
