// Makes the calls that the Node client of Google Bigtable has, against the server that BIGTABLE_EMULATOR_HOST names, and
// ends with an error at the first answer that is not the expected one.
'use strict';

const assert = require('node:assert/strict');
const {Bigtable} = require('@google-cloud/bigtable');

const NOT_FOUND = 5, ALREADY_EXISTS = 6, UNIMPLEMENTED = 12;

async function fails(code, what, call) {
  await assert.rejects(call, error => {
    assert.equal(error.code, code, `${what}: ${error.message}`);
    return true;
  }, what);
}

function read(stream) {
  return new Promise((resolve, reject) => {
    const list = [];
    stream.on('error', reject).on('data', each => list.push(each)).on('end', () => resolve(list));
  });
}

const keys = rows => rows.map(row => row.id);

// cells are those of a row: [family:qualifier, time, value, labels].
function cells(row) {
  const list = [];
  for (const [family, columns] of Object.entries(row.data)) {
    for (const [qualifier, versions] of Object.entries(columns)) {
      for (const v of versions) {
        list.push([`${family}:${qualifier}`, Number(v.timestamp), v.value, ...(v.labels || [])]);
      }
    }
  }
  return list;
}

async function instances(bigtable) {
  const [instance, operation] = await bigtable.createInstance('instance', {
    displayName: 'An instance', clusters: [{id: 'c', location: 'local', nodes: 1}],
  });
  await operation.promise();
  assert.deepEqual(await instance.exists(), [true]);
  await instance.get();
  assert.equal((await instance.getMetadata())[0].name, 'projects/node/instances/instance');
  const [clusters] = await instance.getClusters();
  assert.deepEqual(clusters.map(c => c.id), ['colonnade']);
  const cluster = instance.cluster('colonnade');
  assert.deepEqual(await cluster.exists(), [true]);
  assert.deepEqual(await instance.cluster('other').exists(), [false]);
  await cluster.get();
  assert.equal((await cluster.getMetadata())[0].serveNodes, 1);
  const [profiles] = await instance.getAppProfiles();
  assert.deepEqual(profiles.map(p => p.id), ['default']);
  assert.equal((await read(instance.getAppProfilesStream())).length, 1);
  const profile = instance.appProfile('default');
  assert.deepEqual(await profile.exists(), [true]);
  await profile.get();
  assert.ok((await profile.getMetadata())[0].singleClusterRouting);
  return instance;
}

async function backups(instance, table) {
  const cluster = instance.cluster('colonnade'), after = days => new Date(Math.floor(Date.now() / 1000 + days * 86400) * 1000);
  await table.insert([{key: 'kept', data: {a: {q: {value: 'new', timestamp: 2000}}}}]);
  const [backup, made] = await table.createBackup('b', {expireTime: after(1), cluster});
  await made.promise();
  await fails(ALREADY_EXISTS, 'backup again', () => table.createBackup('b', {expireTime: after(1), cluster}));
  const [metadata] = await backup.getMetadata();
  assert.equal(metadata.state, 'READY');
  assert.ok(metadata.sourceTable.endsWith('/tables/table') && Number(metadata.sizeBytes) > 0);
  await backup.setMetadata({expireTime: after(2)});
  const [, copied] = await backup.copy({cluster, id: 'b2', expireTime: after(3)});
  await copied.promise();
  for (const list of [(await instance.getBackups())[0], (await cluster.getBackups())[0], await read(instance.getBackupsStream()), await read(cluster.getBackupsStream())]) {
    assert.deepEqual(list.map(b => b.id).sort(), ['b', 'b2']);
  }
  const [restored, operation] = await backup.restore('restored');
  await operation.promise();
  assert.deepEqual((await restored.getRows())[0].map(r => [r.id, r.data.a.q[0].value]), [['kept', 'new']]);
  const [again, other] = await instance.createTableFromBackup({table: 'again', backup: `${cluster.name}/backups/b2`});
  await other.promise();
  assert.deepEqual(await again.exists(), [true]);
  for (const each of [restored, again, backup, cluster.backup('b2')]) {
    await each.delete();
  }
  await fails(NOT_FOUND, 'a deleted backup', () => backup.getMetadata());
  await table.deleteRows('kept');
}

// absent makes the calls for what the server does not have. It leaves out the policies of IAM: the client ends the process
// when a call for one fails.
async function absent(instance, table) {
  const cluster = instance.cluster('c'), profile = instance.appProfile('p');
  for (const [what, call] of Object.entries({
    'change an instance': () => instance.setMetadata({displayName: 'Other'}),
    'create a cluster': () => instance.createCluster('c', {location: 'local', nodes: 1}),
    'change a cluster': () => cluster.setMetadata({nodes: 2, location: 'local'}),
    'delete a cluster': () => cluster.delete(),
    'create an app profile': () => instance.createAppProfile('p', {routing: 'any'}),
    'change an app profile': () => profile.setMetadata({description: 'x', routing: 'any'}),
    'delete an app profile': () => profile.delete(),
    'permissions of an instance': () => instance.testIamPermissions('bigtable.tables.get'),
    'permissions of a table': () => table.testIamPermissions('bigtable.tables.get'),
    'SQL': () => instance.prepareStatement('SELECT 1'),
    'a view': () => instance.view(table.id, 'v').getRows(),
  })) {
    await fails(UNIMPLEMENTED, what, call);
  }
}

async function tables(instance) {
  const [table] = await instance.createTable('table', {
    families: ['a', {name: 'b', rule: {versions: 2}}, {name: 'c', rule: {age: {seconds: 3600, nanos: 0}, versions: 2, union: true}}],
    splits: [Buffer.from('m')],
  });
  await fails(ALREADY_EXISTS, 'create again', () => table.create());
  assert.deepEqual(await table.exists(), [true]);
  assert.deepEqual(await instance.table('none').exists(), [false]);
  await table.get();
  assert.equal((await table.getMetadata({view: 'full'}))[0].granularity, 'MILLIS');
  assert.deepEqual((await instance.getTables())[0].map(t => t.id), ['table']);
  assert.equal((await read(instance.getTablesStream())).length, 1);
  const [families] = await table.getFamilies();
  assert.deepEqual(families.map(f => f.id).sort(), ['a', 'b', 'c']);
  const [family] = await table.createFamily('d', {rule: {versions: 5}});
  assert.deepEqual(await family.exists(), [true]);
  await family.get();
  await family.setMetadata({rule: {versions: 1}});
  assert.equal((await family.getMetadata())[0].gcRule.maxNumVersions, 1);
  await family.delete();
  assert.deepEqual(await table.family('d').exists(), [false]);
  assert.deepEqual([...(await table.getReplicationStates())[0].keys()], ['colonnade']);
  const [token] = await table.generateConsistencyToken();
  assert.deepEqual(await table.checkConsistency(token), [true]);
  assert.deepEqual(await table.waitForReplication(), [true]);
  return table;
}

async function writes(table) {
  const cell = (value, timestamp) => ({value, timestamp});
  await table.insert([
    {key: 'r1', data: {a: {q: cell('new', 2000), n: cell(5, 1000)}}},
    {key: 'r1', data: {a: {q: cell('old', 1000)}}},
    {key: 'r2', data: {a: {q: cell('x', 1000)}, b: {q: cell(Buffer.from([0xff, 0]), 1000)}}},
  ]);
  const [row] = await table.row('r1').get();
  assert.deepEqual(cells(row), [['a:n', 1000, 5], ['a:q', 2000, 'new'], ['a:q', 1000, 'old']]);
  const [raw] = await table.row('r2').get({decode: false});
  assert.deepEqual(raw.data.b.q[0].value, Buffer.from([0xff, 0]));
  const [columns] = await table.row('r1').get(['a:n']);
  assert.deepEqual(columns.a.n[0].value, 5);
  await fails(404, 'no row', () => table.row('none').get());
  assert.deepEqual(await table.row('none').exists(), [false]);
  assert.deepEqual(await table.row('r1').exists(), [true]);
  await table.row('r1').getMetadata();
  await assert.rejects(table.insert([{key: 'r3', data: {none: {q: 'x'}}}, {key: 'r4', data: {a: {q: cell('4', 1000)}}}]), e => e.name === 'PartialFailureError' && e.errors.length === 1);
  await table.mutate([
    {method: 'insert', key: 'r5', data: {a: {q: cell('5', 1000)}}},
    {method: 'delete', key: 'r2', data: ['b:q']},
    {method: 'delete', key: 'r4'},
  ]);
  assert.deepEqual(keys((await table.getRows())[0]), ['r1', 'r2', 'r5']);

  const made = table.row('s');
  await made.create({entry: {a: {q: cell('1', 1000), p: cell('2', 1000)}}});
  await made.save({b: {q: cell('3', 1000)}});
  const [yes] = await made.filter({column: 'q'}, {onMatch: [{method: 'insert', data: {a: {yes: cell('y', 1000)}}}]});
  const [no] = await made.filter({column: 'none'}, {onNoMatch: [{method: 'insert', data: {a: {no: cell('n', 1000)}}}]});
  assert.deepEqual([yes, no], [true, false]);
  const [answer] = await made.createRules([{column: 'a:q', append: '+'}, {column: 'a:count', increment: 2}]);
  assert.equal(answer.row.families[0].columns.length, 2);
  assert.deepEqual((await made.increment('a:count', -5))[0], -3);
  assert.deepEqual((await made.increment('a:count'))[0], -2);
  await made.deleteCells(['a:p', 'b']);
  const [left] = await made.get();
  assert.deepEqual(Object.keys(left.data), ['a']);
  assert.deepEqual(Object.keys(left.data.a), ['count', 'no', 'q', 'yes']);
  assert.equal(left.data.a.q[0].value, '1+');
  await made.delete();
  assert.deepEqual(await made.exists(), [false]);
}

async function reads(table) {
  const list = Array.from({length: 250}, (_, n) => ({key: `t${String(n).padStart(3, '0')}`, data: {a: {q: {value: `v${n}`, timestamp: 1000}}, b: {p: {value: 'b', timestamp: 2000}}}}));
  await table.insert(list);
  const some = async options => keys((await table.getRows(options))[0]);
  assert.equal((await some({prefix: 't'})).length, 250);
  assert.deepEqual(await some({keys: ['t007', 't003', 'none']}), ['t003', 't007']);
  assert.deepEqual(await some({start: 't010', end: 't012'}), ['t010', 't011', 't012']);
  assert.deepEqual(await some({ranges: [{start: {value: 't010', inclusive: false}, end: {value: 't012', inclusive: false}}, {start: 't249'}]}), ['t011', 't249']);
  assert.deepEqual(await some({prefixes: ['t00', 't24'], limit: 11}), [...Array(10).keys()].map(n => `t00${n}`).concat('t240'));
  assert.equal((await read(table.createReadStream({prefix: 't1'}))).length, 100);
  const stream = table.createReadStream();
  await new Promise((resolve, reject) => stream.once('data', () => { stream.end(); resolve(); }).once('error', reject));

  const first = async filter => {
    const [rows] = await table.getRows({keys: ['t001'], filter});
    return rows.length === 0 ? [] : cells(rows[0]);
  };
  const a = ['a:q', 1000, 'v1'], b = ['b:p', 2000, 'b'];
  for (const [what, filter, want] of [
    ['all', {all: true}, [a, b]],
    ['nothing', {all: false}, []],
    ['family', {family: 'a'}, [a]],
    ['column', {column: 'p'}, [b]],
    ['column and limit', {column: {cellLimit: 1}}, [a, b]],
    ['columns', {column: {family: 'a', start: {value: 'a', inclusive: false}, end: 'z'}}, [a]],
    ['row', {row: /t00[02-9]/}, []],
    ['row offset', {row: {cellOffset: 1}}, [b]],
    ['row limit', {row: {cellLimit: 1}}, [a]],
    ['time', {time: {start: new Date(2)}}, [b]],
    ['value', {value: /v\d/}, [a]],
    ['values', {value: {start: 'b', end: 'c'}}, [b]],
    ['stripped', {value: {strip: true}}, [['a:q', 1000, ''], ['b:p', 2000, '']]],
    ['label', [{family: 'b'}, {label: 'l'}], [[...b, 'l']]],
    ['sink', {sink: true}, [a, b]],
    ['interleave', {interleave: [{family: 'b'}, {column: 'p'}]}, [b, b]],
    ['condition', {condition: {test: {value: 'v1'}, pass: {family: 'b'}, fail: {all: false}}}, [b]],
  ]) {
    assert.deepEqual(await first(filter), want, what);
  }
  await assert.rejects(first({row: {cellLimit: -1}}), e => e.code === 3);

  const [samples] = await table.sampleRowKeys();
  assert.equal(samples.at(-1).key.toString(), '');
  assert.ok((await read(table.sampleRowKeysStream())).length > 0);
  await table.deleteRows('t1');
  assert.equal((await some({prefix: 't'})).length, 150);
  await table.truncate();
  assert.deepEqual(await some({}), []);
}

async function main() {
  const bigtable = new Bigtable({projectId: 'node'});
  const instance = await instances(bigtable);
  const table = await tables(instance);
  await writes(table);
  await reads(table);
  await backups(instance, table);
  await absent(instance, table);
  assert.deepEqual((await bigtable.getInstances())[0].map(i => i.id), ['instance']);
  await table.delete();
  assert.deepEqual(await table.exists(), [false]);
  await instance.delete();
  await bigtable.close();
}

main().then(() => console.log('every answer is the expected one'), error => {
  console.error(error);
  process.exit(1);
});
