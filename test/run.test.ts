import { expect, test } from 'bun:test'
import { closingLine, failures, LONGEST, tally, timingsOf } from './run.ts'
import { scriptsIn } from './support/imports.ts'

const CLOSED_WELL = ' 12 pass\n 2 skip\n 1 todo\n 0 fail\n 30 expect() calls\nRan 15 tests across 3 files. [1.00s]\n'

test('counts are read from the last lines of bun test', () => {
  expect(tally(CLOSED_WELL, 0)).toEqual({ passed: 12, failed: 0, skipped: 3 })
  expect(tally(CLOSED_WELL.replace('0 fail', '4 fail'), 1)).toEqual({ passed: 12, failed: 4, skipped: 3 })
  expect(tally('\u001b[32m 12 pass\u001b[0m\n 0 fail\nRan 12 tests across 1 file.', 0)).toMatchObject({ passed: 12 })
})

test('a run without its last lines counts as failed', () => {
  expect(tally('(pass) one [1ms]\n(pass) two\n', 139)).toEqual({ passed: 2, failed: 1, skipped: 0 })
  expect(tally('(pass) one [1ms]\n', 0)).toEqual({ passed: 1, failed: 1, skipped: 0 })
  expect(tally('(pass) one\n(fail) two\n(fail) three\n', 134)).toEqual({ passed: 1, failed: 2, skipped: 0 })
})

test('an error outside any test counts as failed', () => {
  expect(tally(CLOSED_WELL, 1)).toMatchObject({ failed: 1 })
})

test('the closing line names skipped tests only if there are some', () => {
  expect(closingLine({ passed: 12, failed: 0, skipped: 0 })).toBe('12 passed, 0 failed')
  expect(closingLine({ passed: 12, failed: 1, skipped: 3 })).toBe('12 passed, 1 failed, 3 skipped')
})

test('the errors of failed tests are shown again at the end, each once', () => {
  const output =
    'a.test.ts:\n(pass) one [1ms]\n12 |   expect(1)\nerror: no\n(fail) two [2ms]\n(pass) three\nerror: never\n(fail) four\n\n' +
    '2 tests failed:\n(fail) two [2ms]\n(fail) four\n\n 2 pass\n 2 fail\n'
  expect(failures(output)).toEqual(['12 |   expect(1)\nerror: no\n(fail) two [2ms]', 'error: never\n(fail) four'])
  expect(failures(CLOSED_WELL)).toEqual([])
})

test('the longest files are begun first, and each of them exists', () => {
  const paths = scriptsIn('test').filter((path) => path.endsWith('.test.ts'))
  expect(LONGEST.filter((begin) => !paths.some((path) => path.startsWith(begin)))).toEqual([])
  const { files } = JSON.parse(timingsOf(['test/config.test.ts', 'test/keys/rotate-service.test.ts']))
  expect(files).toEqual({ 'test/config.test.ts': 1, 'test/keys/rotate-service.test.ts': 2 })
})
