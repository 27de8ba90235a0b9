import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { appendFile, copyFile, lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournalFile } from '../../src/vault/rooms/journal/journal-file.ts'

const key = new Uint8Array(32).fill(7)
const now = () => new Date(0)

let folder: string
const at = (name: string) => join(folder, name)

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-journal-'))
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await rm(folder, { recursive: true })
})

const closing: (() => Promise<void>)[] = []

const open = (names: readonly string[] = ['journal'], known = 0, withKey = key) => {
  const read: string[] = []
  return openJournalFile({
    paths: names.map(at),
    key: withKey,
    now,
    knownOf: async () => known,
    onRecord: (text) => read.push(text),
  }).then((file) => {
    closing.push(file.close)
    return { ...file, seen: read }
  })
}

const textsOf = async (file: Awaited<ReturnType<typeof open>>, from = 1) => {
  const texts: string[] = []
  for await (const { text } of file.read(from)) texts.push(text)
  return texts
}

/** A closed journal with records 1 to 3 after the first one. */
const written = async (names?: readonly string[]) => {
  const file = await open(names)
  await file.append(['{"n":1}', '{"n":2}'])
  await file.append(['{"n":"three\\nlines"}'])
  await file.close()
}

const lines = async (name = 'journal') => (await readFile(at(name), 'utf8')).split('\n')

const RECORDS = ['{"n":1}', '{"n":2}', '{"n":"three\\nlines"}']

test('records are there again, in their order, from any number on', async () => {
  await written()
  const file = await open()
  expect(file.records()).toBe(4)
  expect(file.seen.slice(1)).toEqual(RECORDS)
  expect(await textsOf(file)).toEqual(RECORDS)
  expect(await textsOf(file, 3)).toEqual(RECORDS.slice(2))
  await file.append(['{"n":4}'])
  expect(await textsOf(file, 3)).toEqual([...RECORDS.slice(2), '{"n":4}'])
  await file.close()
})

test('many records are found from any number on', async () => {
  const file = await open()
  const many = Array.from({ length: 1_500 }, (_, n) => JSON.stringify({ n }))
  for (let start = 0; start < many.length; start += 100) await file.append(many.slice(start, start + 100))
  for (const from of [1, 255, 256, 257, 1_024, 1_499]) expect((await textsOf(file, from))[0]).toBe(many[from - 1])
  await file.close()
})

describe('the end of a file', () => {
  test.each([
    ['half a line', (text: string) => `${text}0123abc`],
    ['a line without its end', (text: string) => `${text}${'0'.repeat(64)} {"n":9}`],
    ['a line of a killed process', (text: string) => `${text}${'0'.repeat(64)} {"n":9}\n`],
    ['zeros', (text: string) => `${text}${'\0'.repeat(4096)}`],
  ])('that is %s is removed, as nobody was answered for it', async (_, change) => {
    await written()
    await writeFile(at('journal'), change(await readFile(at('journal'), 'utf8')))
    const file = await open(['journal'], 4)
    expect(await textsOf(file)).toEqual(RECORDS)
    await file.append(['{"n":4}'])
    await file.close()
    expect(await textsOf(await open())).toEqual([...RECORDS, '{"n":4}'])
  })
})

describe('a journal that is not as it was written is refused', () => {
  const refused = 'VAULT_JOURNAL ends at record'

  test.each([
    ['edited', (all: readonly string[]) => all.map((line) => line.replace('{"n":2}', '{"n":5}'))],
    ['removed', (all: readonly string[]) => all.filter((_, index) => index !== 2)],
    ['moved', ([first = '', one = '', two = '', ...rest]: readonly string[]) => [first, two, one, ...rest]],
    ['doubled', ([first = '', one = '', ...rest]: readonly string[]) => [first, one, one, ...rest]],
    ['gone from the end', (all: readonly string[]) => [...all.slice(0, -2), '']],
    ['all gone', () => ['']],
  ])('where a line is %s', async (_, change) => {
    await written()
    await writeFile(at('journal'), change(await lines()).join('\n'))
    // Without a single line it is another journal, which the database does not know: it is begun anew.
    if ((await lines()).length === 1) return expect((await open()).records()).toBe(1)
    await expect(open(['journal'], 4)).rejects.toThrow(refused)
  })

  test.each([
    ['edited', (all: readonly string[]) => all.map((line) => line.replace('{"n":1}', '{"n":5}'))],
    ['removed', ([head = '', , ...rest]: readonly string[]) => [head, ...rest]],
    ['half there', (all: readonly string[]) => all.map((line, index) => (index === 1 ? line.slice(0, 68) : line))],
  ])(
    'where a line is %s, also by a restored database that knows less, and nothing of it is removed',
    async (_, change) => {
      await written()
      const changed = change(await lines()).join('\n')
      await writeFile(at('journal'), changed)
      await expect(open(['journal'], 1)).rejects.toThrow('was changed after record 0')
      expect(await readFile(at('journal'), 'utf8')).toBe(changed)
    },
  )

  test('under another key', async () => {
    await written()
    await expect(open(['journal'], 0, new Uint8Array(32).fill(8))).rejects.toThrow(refused)
  })

  test('where it is not a journal', async () => {
    await writeFile(at('journal'), 'Dear diary\n')
    await expect(open()).rejects.toThrow(refused)
  })

  test('where it cannot be written', async () => {
    await expect(open(['no/such/folder'])).rejects.toThrow('is not (ENOENT)')
  })
})

describe('two files', () => {
  const both = ['journal', 'second']

  test('have the same', async () => {
    await written(both)
    expect(await lines('second')).toEqual(await lines())
  })

  test('of which one is behind, or empty, become the same', async () => {
    await written(both)
    await copyFile(at('journal'), at('older'))
    const file = await open(['second'])
    await file.append(['{"n":4}'])
    await file.close()
    for (const names of [
      ['older', 'second'],
      ['second', 'older'],
      ['second', 'new'],
    ]) {
      const again = await open(names, 5)
      expect(await textsOf(again)).toEqual([...RECORDS, '{"n":4}'])
      expect(again.seen.slice(-4)).toEqual([...RECORDS, '{"n":4}'])
      await again.append([])
      await again.close()
      expect(await lines(names[0])).toEqual(await lines(names[1]))
    }
  })

  test('of two journals are refused', async () => {
    await written(['journal'])
    await written(['second'])
    await expect(open(both)).rejects.toThrow('are two journals')
  })

  test('that went on apart are refused', async () => {
    await written(both)
    for (const name of both) {
      const file = await open([name])
      await file.append([JSON.stringify({ name })])
      await file.close()
    }
    await expect(open(both)).rejects.toThrow('are two journals')
  })
})

test('nothing is appended after somebody else has written', async () => {
  const file = await open()
  await file.append(['{"n":1}'])
  await appendFile(at('journal'), 'x')
  await expect(file.append(['{"n":2}'])).rejects.toThrow('Somebody else')
})

test.each([
  ['renamed', async () => rename(at('journal'), at('journal.1'))],
  [
    'renamed, and another one is there',
    async () => {
      await rename(at('journal'), at('journal.1'))
      await writeFile(at('journal'), '')
    },
  ],
  ['deleted', async () => rm(at('journal'))],
])('nothing is appended to a file that was %s', async (_, change) => {
  const file = await open()
  await file.append(['{"n":1}'])
  await change()
  await expect(file.append(['{"n":2}'])).rejects.toThrow(/Somebody else|ENOENT/)
})

describe('a journal that was compacted', () => {
  const names = ['journal', 'second']
  const floors = [['policies\nsome id', 3]] as const

  const compacted = async () => {
    await written(names)
    const file = await open(names, 4)
    await file.compact({ upTo: 2, floors })
    return file
  }

  test('has the later records under their numbers, and goes on', async () => {
    const file = await compacted()
    expect([file.first(), file.records()]).toEqual([2, 4])
    await file.append(['{"n":4}'])
    expect(await textsOf(file, 3)).toEqual([...RECORDS.slice(2), '{"n":4}'])
    await file.close()
    const again = await open(names, 5)
    expect([again.id, again.first(), again.records()]).toEqual([file.id, 2, 5])
    expect(JSON.parse(again.seen[0] ?? '')).toMatchObject({ journal: file.id, number: 2, floors })
    expect(await textsOf(again, 4)).toEqual(['{"n":4}'])
    expect(await lines('second')).toEqual(await lines())
  })

  test('stays where a symbolic link leads', async () => {
    await mkdir(at('other-disk'))
    await symlink(at('other-disk/journal'), at('journal'))
    const file = await compacted()
    await file.append(['{"n":4}'])
    expect((await lstat(at('journal'))).isSymbolicLink()).toBe(true)
    expect(await lines('other-disk/journal')).toEqual(await lines('second'))
  })

  test('is refused where it is shorter than the database knows', async () => {
    await (await compacted()).close()
    await expect(open(names, 5)).rejects.toThrow('ends at record 4')
  })

  test('replaces a file that was not, after a kill between the two', async () => {
    await written(names)
    await copyFile(at('second'), at('not-yet'))
    const file = await open(names, 4)
    await file.compact({ upTo: 2, floors })
    await file.close()
    for (const both of [
      ['journal', 'not-yet'],
      ['not-yet', 'second'],
    ]) {
      const again = await open(both, 4)
      expect([again.first(), await textsOf(again, 3)]).toEqual([2, RECORDS.slice(2)])
      await again.close()
      expect(await lines(both[0])).toEqual(await lines(both[1]))
    }
  })
})
