// docs/deployment.md, pasted command by command on an empty Debian with systemd. In the end there are two vaults, two
// APIs and two workers behind nginx with TLS; each is stopped and updated under load without a failed request, a backup
// is restored, and the vaults move to another address with TLS.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { startChain, type TestChain } from './support/chains.ts'
import { type Debian, GATEWAY, startDebian, whyNoDebian } from './support/debian.ts'
import { ROOT } from './support/imports.ts'
import { isLeftOut } from './support/long.ts'

const missing = whyNoDebian()
if (missing !== null) console.log(`docs/deployment.md is not pasted on an empty Debian: ${missing}.`)

const Load = Type.Object({ answered: Type.Integer(), failed: Type.Array(Type.String()) })

/** The blocks of a shell below a heading of a page, up to another heading. */
const blocksOf = async (page: string, from: string, to: string | null): Promise<readonly string[]> => {
  const text = await Bun.file(join(ROOT, 'docs', page)).text()
  const start = text.indexOf(`\n${from}\n`)
  const end = to === null ? text.length : text.indexOf(`\n${to}\n`)
  if (start < 0 || end < start) throw new Error(`docs/${page} has no ${from} before ${to}`)
  return [...text.slice(start, end).matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

/** What a reader puts in place of the examples. Nothing else of a command is changed. */
const REPOSITORY = 'file:///srv/strongroom.git'
const filledIn = (block: string, rpcUrl: string): string =>
  block.replace('REPOSITORY=https://…', `REPOSITORY=${REPOSITORY}`).replace('https://node.example.com', rpcUrl)

/** Keeps what a shell knows for the next one, as all blocks are pasted into one. */
const kept = (blocks: readonly string[]): string =>
  [
    'set -eu -o pipefail',
    'test ! -f /root/shell || . /root/shell',
    ...blocks.map((block, index) => `echo "== block ${index}"\n${block}`),
    '(declare -p | grep -E "^declare -- (HOST|REPOSITORY|made|address|backup|owner|vault|api|worker|console)="; declare -f) > /root/shell',
  ].join('\n')

describe.skipIf(missing !== null || isLeftOut('docs/deployment.md on an empty Debian'))(
  'the installation by the page',
  () => {
    let folder: string
    let debian: Debian
    let chain: TestChain

    /** Pastes blocks into a shell of root. @throws with what they printed if a command failed */
    const paste = async (blocks: readonly string[]): Promise<string> => {
      const rpcUrl = `http://${GATEWAY}:${new URL(chain.rpcUrl).port}`
      await writeFile(join(debian.root, 'root/script'), kept(blocks.map((block) => filledIn(block, rpcUrl))))
      const { exitCode, out } = await debian.run('bash', '/root/script')
      if (exitCode !== 0) throw new Error(`A command of the page ended with ${exitCode}: ${out.slice(-6_000)}`)
      return out
    }

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'strongroom-debian-'))
      const shared = join(folder, 'shared')
      await mkdir(shared)
      const cloned = Bun.spawnSync(['git', 'clone', '--quiet', '--bare', ROOT, join(shared, 'strongroom.git')])
      expect(cloned.stderr.toString()).toBe('')
      await Bun.write(join(shared, 'load.ts'), Bun.file(join(ROOT, 'test/support/small-load.ts')))
      ;[debian, chain] = await Promise.all([startDebian({ folder, shared }), startChain('Ethereum')])
    })

    afterAll(async () => {
      await debian?.stop()
      await chain?.stop()
      await rm(folder, { recursive: true, force: true })
    })

    /** Runs commands while requests come through the proxy. */
    const underLoad = async (commands: readonly string[]) => {
      const variables = 'URL="https://$HOST" STOP=/root/stop ADDRESS="$address"'
      const ofProject = `PROJECT=$(awk '/^project id/ {print $3}' <<< "$made") KEY=$(awk '/^api key/ {print $3}' <<< "$made")`
      const out = await paste([
        'rm -f /root/stop; trap "touch /root/stop" EXIT; grep -q "$HOST" /etc/hosts || echo "127.0.0.1 $HOST" >> /etc/hosts',
        `(cd /opt/strongroom; env ${variables} ${ofProject} bun /srv/load.ts) > /root/load & load=$!`,
        'sleep 3',
        ...commands,
        'sleep 3; touch /root/stop; wait $load; echo; cat /root/load',
      ])
      return Value.Parse(Load, JSON.parse(out.trim().split('\n').at(-1) ?? ''))
    }

    test('ends with a signature through the proxy, and with a doctor who finds nothing', async () => {
      const blocks = await blocksOf('deployment.md', '## Installing', '### The first backup')
      const out = await paste(blocks)
      expect(out).toMatch(/\{"signature":"0x[0-9a-f]{130}"\}/)
      expect(out.match(/\{"status":"ready"/g)?.length).toBe(2)
      expect(out).not.toContain('FAILED')
    })

    test('has its backup and the further settings of the units', async () => {
      const [backup = ''] = await blocksOf('backup.md', '## Backups', '## After a restore')
      const units = await blocksOf('deployment.md', '### The units', '## Several of each')
      expect(units.length).toBe(3)
      await paste([backup, 'mkdir -p /mnt/other', ...units, 'ready 1; ready 2; as api bun run --silent cli doctor'])
    })

    test('answers each request while one process of each kind is stopped', async () => {
      const stopped = [1, 2].flatMap((n) => [
        `systemctl stop strongroom-vault@${n}; sleep 3; systemctl start strongroom-vault@${n}`,
        `timeout 60 sh -c 'until test -S /run/strongroom-vault-${n}/vault.sock; do sleep 1; done'`,
        `systemctl stop strongroom-api@${n}; sleep 3; systemctl start strongroom-api@${n}; ready ${n}`,
        `systemctl stop strongroom-worker@${n}; sleep 3; systemctl start strongroom-worker@${n}`,
      ])
      const { answered, failed } = await underLoad(stopped)
      expect(failed).toEqual([])
      expect(answered).toBeGreaterThan(50)
    })

    test('answers each request while a new version is installed', async () => {
      const { answered, failed } = await underLoad(
        await blocksOf('deployment.md', '## A new version', '## The vault on a machine of its own'),
      )
      expect(failed).toEqual([])
      expect(answered).toBeGreaterThan(50)
    })

    test('can be restored from its backup and the journals', async () => {
      const [restored = ''] = await blocksOf('backup.md', '## After a restore', null)
      const out = await paste([
        restored,
        'ready 1; ready 2',
        `call /transactions/sign-message '{"network":"Ethereum","signer_wallet_address":"'$address'","user_pin":"493817","message":"Hello"}'`,
      ])
      expect(out).toMatch(/\{"signature":"0x[0-9a-f]{130}"\}/)
    })

    test('can have vaults, API and database on machines of their own', async () => {
      const machines = await blocksOf('deployment.md', '## The vault on a machine of its own', '## Nodes')
      expect(machines.length).toBe(4)
      const [certificates = '', ...others] = machines
      const out = await paste([
        // Three addresses of this machine, of which each user's connections come from their own.
        'apt-get install -y --no-install-recommends iproute2',
        'for n in 10 20 30; do ip addr add 10.0.4.$n/32 dev lo; done',
        'ip rule add pref 100 lookup local && ip rule del pref 0',
        'from() { ip rule add pref 90 uidrange "$(id -u $1)-$(id -u $1)" lookup $2; }',
        'from strongroom-vault 20; ip route add local 10.0.4.10 dev lo src 10.0.4.20 table 20',
        'from strongroom-api 30; for n in 10 20; do ip route add local 10.0.4.$n dev lo src 10.0.4.30 table 30; done',
        String.raw`printf '10.0.4.10 db.internal\n10.0.4.20 vault.internal\n10.0.4.30 api-1.internal\n' >> /etc/hosts`,
        // What the page sets for vaults without a network. The other API still has the vaults of this machine.
        'rm /etc/systemd/system/strongroom-vault@.service.d/no-network.conf; systemctl stop strongroom-api@2',
        `(cd /root\n${certificates})`,
        ...others.map((block) => `(cd /root/strongroom-ca\n${block})`),
        'ready 1',
        `call /transactions/sign-message '{"network":"Ethereum","signer_wallet_address":"'$address'","user_pin":"493817","message":"Hello"}'`,
        'cd /; runuser -u postgres -- psql -Atc "select distinct usename, client_addr, ssl from pg_stat_activity join pg_stat_ssl using (pid)"',
        'journalctl --output=cat --unit=strongroom-api@1 --lines=20',
      ])
      expect(out).toMatch(/\{"signature":"0x[0-9a-f]{130}"\}/)
      expect(out).toContain('\napi|10.0.4.30|t\n')
      expect(out).toContain('\nvault|10.0.4.20|t\n')
      for (const port of [7441, 7442]) expect(out).toContain(`"socket":"tls://vault.internal:${port}"`)
    })
  },
)
