// Core dumps of the processes that hold secrets, as the kernel sees them from outside. vault-memory.test.ts looks at
// the vault.

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { commonService } from '../support/common-service.ts'
import { type Program, programPath } from '../support/programs.ts'

const service = await commonService()

/** Starts a process for which core dumps are allowed, and waits for its log line that it is ready. */
const started = async (program: Program, ready: string, changes: Record<string, string>) => {
  const child = Bun.spawn(['sh', '-c', 'ulimit -S -c "$(ulimit -H -c)"; exec bun "$0"', programPath(program)], {
    env: { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', ...changes, LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let log = ''
  for await (const chunk of child.stdout) {
    log += Buffer.from(chunk).toString()
    if (log.includes(ready)) break
  }
  return { child, log }
}

const coreLimitOf = (pid: number): string =>
  /^Max core file size +(\S+) +(\S+)/m
    .exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))
    ?.slice(1)
    .join(' ') ?? ''

test.skipIf(process.platform !== 'linux')('the vault, the API and the worker turn core dumps off', async () => {
  const programs = [
    [
      'src/main/vault',
      '"listening"',
      { ...service.vaultVariables, VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.other` },
    ],
    ['src/main/api', '"listening"', {}],
    ['src/main/worker', '"working"', { VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }],
  ] as const
  for (const [program, ready, changes] of programs) {
    const { child, log } = await started(program, ready, changes)
    try {
      expect({ program, limit: coreLimitOf(child.pid) }).toEqual({ program, limit: '0 0' })
      expect(log).not.toContain('core dumps cannot be turned off')
    } finally {
      child.kill('SIGTERM')
      await child.exited
    }
  }
})
