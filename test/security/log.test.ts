import { describe, expect, spyOn, test } from 'bun:test'
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { openDb } from '../../db/client.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createLog, createOutput, shownError } from '../../src/platform/process/log.ts'
import { denoCommand } from '../support/deno.ts'
import { ROOT } from '../support/imports.ts'
import { someOf } from '../support/long.ts'
import { createDatabase } from '../support/postgres.ts'

const MARK = 'marked-value-4711'

describe('an error in the log', () => {
  test('says what failed and where, without the values of the statement', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.url, maxConnections: 1, applicationName: 'test' })
    try {
      const {
        rows: [project],
      } = await db.execute<{ id: string }>(sql`insert into projects (name) values (${MARK}) returning id`)
      for (const statement of [
        sql`select ${MARK}::text from nowhere`,
        sql`insert into projects (id, name) values (${project?.id}, ${MARK})`,
        sql`insert into projects (name, id) values (${MARK}, null)`,
      ]) {
        const error = await db.execute(statement).catch((thrown: unknown) => thrown)
        const shown = JSON.stringify(shownError(error))
        expect(shown).not.toContain(MARK)
        expect(shown).not.toContain(project?.id ?? '')
        expect(shown).toContain('Failed query: ')
        expect(shown).toMatch(/"code":"(42P01|23505|23502)"/)
      }
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('has the message, the code and the frames of each cause', () => {
    const cause = new TypeError('what went wrong')
    const shown = shownError(new AppError('unavailable', 'A sentence.', { cause }))
    expect(shown).toMatchObject({
      type: 'AppError',
      message: 'A sentence.',
      code: 'unavailable',
      cause: { type: 'TypeError', message: 'what went wrong' },
    })
    expect(JSON.stringify(shown)).toContain('log.test.ts')
  })

  test('handles circular causes and values that are no errors', () => {
    const circle = new Error('one')
    circle.cause = circle
    expect(JSON.stringify(shownError(circle)).match(/"one"/g)?.length).toBe(5)
    expect(shownError(MARK)).toEqual({ type: 'string' })
    expect(shownError(undefined)).toEqual({ type: 'undefined' })
  })

  test('does not contain an answer that does not fit its schema', () => {
    const error = Object.assign(new Error(JSON.stringify({ found: MARK })), { code: 'VALIDATION', value: MARK })
    expect(JSON.stringify(shownError(error))).not.toContain(MARK)
  })
})

describe('a line of the log', () => {
  const logTo = (lines: string[], logLevel: 'info' | 'warn' | 'silent') =>
    createLog({ config: { logLevel }, process: 'test', write: (line) => void lines.push(line) })

  test('is one of JSON with level, time, process and pid, then the facts, then the sentence', () => {
    const lines: string[] = []
    const log = logTo(lines, 'info')
    log.info({ network: 'Ethereum', value: 10n ** 30n, absent: undefined }, 'two\nlines')
    log.fatal('only a sentence')
    const [first = '', second = ''] = lines
    const { time, ...rest } = JSON.parse(first)
    expect(new Date(time).toISOString()).toBe(time)
    expect(Object.entries(rest)).toEqual([
      ['level', 30],
      ['process', 'test'],
      ['pid', process.pid],
      ['network', 'Ethereum'],
      ['value', `1${'0'.repeat(30)}`],
      ['msg', 'two\nlines'],
    ])
    expect(first.indexOf('\n')).toBe(first.length - 1)
    expect(JSON.parse(second)).toMatchObject({ level: 60, msg: 'only a sentence' })
  })

  test('is written for its level and above', () => {
    const lines: string[] = []
    for (const logLevel of ['warn', 'silent'] as const) {
      const log = logTo(lines, logLevel)
      for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[level]({}, level)
    }
    expect(lines.map((line) => JSON.parse(line)).map(({ level, msg }) => [level, msg])).toEqual([
      [40, 'warn'],
      [50, 'error'],
      [60, 'fatal'],
    ])
  })

  test('has an error without the values in it, and never throws', () => {
    const lines: string[] = []
    const log = logTo(lines, 'info')
    log.error({ err: Object.assign(new Error(MARK), { query: 'select $1', params: [MARK] }) }, 'failed')
    log.error({ err: MARK }, 'failed')
    const circle: Record<string, unknown> = {}
    circle.circle = circle
    log.warn({ circle }, 'circular')
    expect(lines.join('')).not.toContain(MARK)
    const [one, two, three] = lines.map((line) => JSON.parse(line))
    expect(one.err).toMatchObject({ type: 'Error', message: 'Failed query: select $1' })
    expect(two.err).toEqual({ type: 'string' })
    expect(three).toMatchObject({ level: 40, msg: 'circular', unwritable: { type: 'TypeError' } })
  })
})

describe('the output of the log', () => {
  test('loses lines while a pipe is full, and then says how many', () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-log-'))
    const path = join(folder, 'pipe')
    execFileSync('mkfifo', [path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    // It would wait a second for the pipe to be read.
    const pause = spyOn(Atomics, 'wait').mockReturnValue('timed-out')
    try {
      const write = createOutput(pipe)
      const line = `${'x'.repeat(999)}\n`
      for (let lines = 0; lines < 100; lines += 1) write(line)
      const room = Buffer.alloc(1024 * 1024)
      const first = room.subarray(0, readSync(pipe, room)).toString()
      const taken = first.split('\n').filter((text) => text.length === 999).length
      write('the next\n')
      const [told, next, end] = room.subarray(0, readSync(pipe, room)).toString().trimStart().split('\n')
      expect(JSON.parse(told ?? '')).toMatchObject({ level: 40, lost: 100 - taken, msg: 'lines of the log were lost' })
      expect([next, end]).toEqual(['the next', ''])
      write('and on\n')
      expect(room.subarray(0, readSync(pipe, room)).toString()).toBe('and on\n')
      expect(pause).toHaveBeenCalled()
    } finally {
      pause.mockRestore()
      closeSync(pipe)
      rmSync(folder, { recursive: true })
    }
  })

  const logsAndExits = (lines: number) => `
    import { createLog } from '${join(ROOT, 'src/platform/process/log.ts')}'
    import process from 'node:process'
    const log = createLog({ config: { logLevel: 'info' }, process: 'test' })
    for (let line = 0; line < ${lines}; line += 1) log.info({ line, pad: 'x'.repeat(200) }, 'a line')
    process.exit(7)
  `
  const all = [
    ['bun', ['bun', '--no-env-file']],
    ['deno', denoCommand()],
  ] as const
  const runtimes = someOf(all, 2)

  test.each(runtimes)(
    'has every line when a process on %s ends at once, however slowly it is read',
    async (_, command) => {
      const folder = mkdtempSync(join(tmpdir(), 'strongroom-log-'))
      try {
        const file = join(folder, 'logs.ts')
        writeFileSync(file, logsAndExits(5_000))
        // The shell's pipe is blocking, and is full long before tail reads.
        const text = execFileSync(
          'sh',
          ['-c', '{ "$@"; echo "code $?"; } | { sleep 0.3; cat; }', 'sh', ...command, file],
          { maxBuffer: 1 << 26 },
        )
        const lines = text.toString().trim().split('\n')
        expect(lines.slice(0, -1).map((line) => JSON.parse(line).line)).toEqual(
          Array.from({ length: 5_000 }, (_, line) => line),
        )
        expect(lines.at(-1)).toBe('code 7')
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
  )

  test.each(runtimes)('does not end a process on %s when it is closed', async (_, command) => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-log-'))
    try {
      const file = join(folder, 'logs.ts')
      writeFileSync(file, logsAndExits(5_000))
      const run = ['-c', '{ "$@"; echo "code $?" >&2; } | true', 'sh', ...command, file]
      const { stderr } = spawnSync('sh', run)
      expect(stderr.toString()).toBe('code 7\n')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
