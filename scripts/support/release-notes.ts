/**
 * Returns the section of a version in a changelog, without its heading `## VERSION` or `## VERSION - DATE`.
 * Throws an Error if the changelog has no such section, or if the section is empty.
 */
export const releaseNotesOf = (changelog: string, version: string): string => {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.split('\n', 1)[0]?.split(' - ', 1)[0]?.trim() === version)
  if (section === undefined) {
    const rename = `Rename "## Unreleased" to "## ${version} - DATE", and begin a new "## Unreleased".`
    throw new Error(`CHANGELOG.md has no section "## ${version}". ${rename}`)
  }
  const notes = section.replace(/^.*/, '').trim()
  if (notes === '')
    throw new Error(`The section "## ${version}" of CHANGELOG.md is empty. List the changes of this version.`)
  return notes
}

/** Returns the version that a tag names. Throws an Error if the tag is not `v` and the version of the package. */
export const versionOfTag = (tag: string, packageVersion: string): string => {
  if (tag === `v${packageVersion}`) return packageVersion
  const fix = `Tag "v${packageVersion}", or change the version.`
  throw new Error(`The tag "${tag}" does not match version ${packageVersion} of package.json. ${fix}`)
}
