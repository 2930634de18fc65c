import { describe, expect, it } from 'vitest'
import { releaseNotesOf, versionOfTag } from '../../../scripts/support/release-notes.js'

const CHANGELOG = `# Changelog

## Unreleased

### Added

- The next thing.

## 1.2.0-rc.1 - 2026-02-01

### Fixed

- A crash.
  In two lines.

## 1.1.0

- 1.2.0

## 1.0.0 - 2026-01-01
`

describe('release notes', () => {
  it('release notes are the section of exactly one version, with or without a date in its heading', () => {
    expect(releaseNotesOf(CHANGELOG, '1.2.0-rc.1')).toBe('### Fixed\n\n- A crash.\n  In two lines.')
    expect(releaseNotesOf(CHANGELOG, '1.1.0')).toBe('- 1.2.0')
  })

  it.each(['1.2.0', '1.1', '2026-02-01', 'Added', ''])('release notes need a section for "%s"', (version) => {
    expect(() => releaseNotesOf(CHANGELOG, version)).toThrow(`CHANGELOG.md has no section "## ${version}". Rename`)
  })

  it('release notes fail if the section of the version is empty', () => {
    expect(() => releaseNotesOf(CHANGELOG, '1.0.0')).toThrow('The section "## 1.0.0" of CHANGELOG.md is empty.')
  })
})

describe('the tag of a release', () => {
  it('the tag of a release names the version of the package', () => {
    expect(versionOfTag('v1.2.0', '1.2.0')).toBe('1.2.0')
  })

  it.each(['v1.2.1', '1.2.0', 'v1.2', 'v1.2.0-rc.1', ''])(
    'the release tag "%s" is rejected if the package has version 1.2.0',
    (tag) => {
      expect(() => versionOfTag(tag, '1.2.0')).toThrow(`The tag "${tag}" does not match version 1.2.0 of package.json.`)
    },
  )
})
